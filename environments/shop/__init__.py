"""The embedded shop: a small storefront with the pages, selectors and messages of a Magento Blank shop."""
