"""HTML pages of the contest: views, forms and URLs, one package for each audience."""
