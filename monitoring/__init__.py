"""Who labels with care: gold, agreement, copying, and what is done about it (R6). Nothing in labeling imports it."""
