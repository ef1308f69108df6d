"""Files of saved results: values of runs scored earlier, by any program that prints a line per value."""
