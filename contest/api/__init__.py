"""The public REST API: views, URLs and documentation page."""
