"""Small cases of the arithmetic of table.py."""

import unittest

import table


class Table(unittest.TestCase):
    def test_the_paper_has_figures_or_none_for_each_column(self):
        self.assertEqual({len(found) for found in table.PUBLISHED.values()}, {len(table.COLUMNS)})

    def test_an_order_counts_the_sets_that_have_both(self):
        def system(name, mean):
            return {"name": name, "figures": {"mean_p": mean}}

        systems = [system("craftml:paper", 0.5), system("craftml", 0.7), system("fastxml", 0.6)]
        (text,) = table.pairs({"some": {"systems": systems}})
        self.assertIn("| CRAFTML before FastXML | 9 of 9 | 0 of 1 | 1 of 1 |", text)
        self.assertIn("| CRAFTML before PLT | 5 of 5 | 0 of 0 | 0 of 0 |", text)
