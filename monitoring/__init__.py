"""Quality of labeling: gold, agreement, copying, and actions on taskers (R6). Labeling does not import it."""
