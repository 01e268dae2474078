"""Write the conjoint report: which tables and figures answer which question."""

from collections.abc import Mapping, Sequence

import pandas as pd

from analysis.conjoint import figures
from analysis.reporting.sections import NamedFigure, NamedTable, Section


def sections(frames: Mapping[str, pd.DataFrame], notes: Sequence[str]) -> list[Section]:
    """Return one section per question. frames: by the names of `ConjointAnalysis`."""

    def table(name: str, caption: str) -> NamedTable:
        return NamedTable(name, caption, frames[name])

    found = [
        Section(
            "Position triage",
            "Who looks at the options at all? The rate is the share of choices of the option that stood"
            " first, of the first two alternatives of the set. With every set shown in both orders an agent"
            " that weighs the attributes comes near 50 %. Outside 15 to 85 % it is position-locked: its"
            " choices say where options stood and little else, so the models below leave it out.",
            (table("triage", "First-shown rate (share), Wilson interval, test against a half, verdict."),),
            (
                NamedFigure(
                    "triage",
                    "First-shown rate of each agent with its 95 % Wilson interval.",
                    figures.triage_figure(frames["triage"]),
                ),
            ),
        )
    ]
    if notes:
        found.append(Section("Notes", " ".join(notes)))
    if frames["coefficients"].empty:
        return found
    found += [
        Section(
            "Price",
            "How much does a higher price put an agent off? In pairs the model is a logit on the differences"
            " between the two options with an intercept; for any set size it is McFadden's conditional logit."
            " A log-price coefficient of -5 means that a price 10 % higher multiplies the odds by 1.1 to the"
            " power of -5, which is 0.62. The dots take the price by deciles and so assume no curve; a curve"
            " that runs through them describes the agent well. Of the two curves the one with the lower AIC"
            " fits better.",
            (
                table(
                    "functional_form", "AIC of the linear less the log price. Negative: linear fits better."
                ),
                table("price_response", "Coefficients of log price (log_price) and of USD (price) by model."),
                table("price_deciles", "Utility against the first decile, and the two fitted curves."),
            ),
            (
                NamedFigure(
                    "price_deciles",
                    "Utility by price decile with 95 % intervals, and the fitted log and linear curves.",
                    figures.price_figure(frames["price_deciles"]),
                ),
                NamedFigure(
                    "functional_form",
                    "AIC of the linear less the log price, by agent.",
                    figures.form_figure(frames["functional_form"]),
                ),
            ),
        ),
        Section(
            "Quality",
            "What do a star, a better bed, free cancellation, breakfast, a point of review score and a"
            " hundred reviews weigh, the log price held? Colours compare agents within a column only.",
            (table("quality", "Coefficients of the log-price model, pairs where there are any."),),
            (
                NamedFigure(
                    "quality",
                    "Quality coefficients by agent and attribute.",
                    figures.quality_figure(frames["quality"]),
                ),
            ),
        ),
        Section(
            "Personality map",
            "Each agent by how strongly it minds the price and how much it values reviews, in one model.",
            (
                table(
                    "personality", "Log-price coefficient with its sign turned, and review-score coefficient."
                ),
            ),
            (
                NamedFigure(
                    "personality",
                    "Price sensitivity against the weight of the review score, with 95 % intervals.",
                    figures.personality_figure(frames["personality"]),
                ),
            ),
        ),
        Section(
            "Willingness to pay",
            "What one unit of an attribute is worth in USD: its coefficient over that of the price, sign"
            " turned, with the price in the form that fits better. With the log price that is what it is"
            " worth at the median price. The delta-method interval is symmetric; the Krinsky-Robb"
            " interval, from 10,000 draws of the coefficients, need not be. Where the price coefficient is"
            " not clearly below 0 there is no willingness to pay, and the cell is empty.",
            (table("willingness_to_pay", "USD for one unit, with delta-method and Krinsky-Robb intervals."),),
            (
                NamedFigure(
                    "willingness_to_pay",
                    "Willingness to pay by attribute and agent with Krinsky-Robb 95 % intervals.",
                    figures.wtp_figure(frames["willingness_to_pay"]),
                ),
            ),
        ),
        Section(
            "Set size",
            "Does a third option change how the price counts? The coefficients come from conditional logits"
            " of each set size. The pooling test asks whether one model fits all sizes; a small p says no.",
            (
                table(
                    "set_size", "Log-price coefficient by set size; Spearman's rank correlation over agents."
                ),
                table("pooling", "Test of one model for all set sizes."),
            ),
            (
                NamedFigure(
                    "set_size",
                    "Log-price coefficients of two set sizes; on the dotted line they are equal.",
                    figures.block_figure(frames["set_size"]),
                ),
            ),
        ),
        Section(
            "Price sensitivity and model size",
            "Do larger models mind the price more? Sizes are given, or read from labels such as 27b.",
            (table("model_size", "Price sensitivity, billions of parameters, and their rank correlation."),),
            (
                NamedFigure(
                    "model_size",
                    "Price sensitivity against the number of parameters.",
                    figures.size_figure(frames["model_size"]),
                ),
            ),
        ),
        Section(
            "Brand",
            "Do chains attract, the price deciles and all quality attributes held? The base are independent"
            " hotels. The permutation test asks whether agents of one provider like the same chains.",
            (
                table("brands", "Coefficients of the chain families."),
                table("brand_permutation", "Correlation within less between providers, with permutation p."),
            ),
            (NamedFigure("brands", "Chain coefficients by agent.", figures.brand_figure(frames["brands"])),),
        ),
        Section(
            "What was booked",
            "The options that were chosen in the smallest sets, beside everything that was offered there,"
            " which is what a chooser at random would book. Position-locked agents are included.",
            (table("booked", "Mean and median price (USD), mean stars, share of each chain (%)."),),
            (
                NamedFigure(
                    "booked",
                    "Mean price booked with its 95 % interval, and mean price offered.",
                    figures.booked_figure(frames["booked"]),
                ),
            ),
        ),
        Section(
            "All models",
            "Every coefficient of every model. logit: pairs, A less B, with an intercept; clogit: conditional"
            " logit, one group per trial. Adjusted p values are Benjamini-Hochberg within one model.",
            (
                table("fit_statistics", "Log-likelihood, AIC, pseudo R2 and sizes."),
                table("coefficients", "Coefficients."),
            ),
        ),
    ]
    return found
