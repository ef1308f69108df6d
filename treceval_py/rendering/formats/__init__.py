"""The formats: a module each, with ``draw(document, style)``."""
