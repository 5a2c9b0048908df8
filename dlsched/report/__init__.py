"""Reports for people who decide: HTML, PPTX and XLSX."""
