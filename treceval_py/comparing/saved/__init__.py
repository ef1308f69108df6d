"""Files of saved results: values of runs that were scored long ago, by any program that prints a line for each."""
