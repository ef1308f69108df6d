"""The formats: one module each, with ``draw(document, style)``."""
