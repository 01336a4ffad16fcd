//! The picture of a price: the CPU time of plain proxying, and stacked on it the time that a function adds, with its interval.

use hoptax_result::{ArmResult, Interval, StudyResult, grouped, ungrouped};

/// An arm.
#[derive(Debug)]
pub(super) struct Bar {
    /// Its name.
    pub(super) name: String,
    /// CPU time per request of the plain proxy that it is compared with, us.
    pub(super) plain_us: f64,
    /// CPU time that it adds, us.
    pub(super) added_us: Interval,
}

impl Bar {
    /// An arm of the price list, under the load of its price; none if one of its two numbers is withheld.
    pub(super) fn of_arm(arm: &ArmResult, listed: &StudyResult) -> Option<Self> {
        let load = listed.plan.cpu_load_of(&arm.id)?;
        let of_load = arm.loads.iter().find(|one| one.load == load.name)?;
        let (total, added) = (of_load.cpu_us_per_request?, of_load.cost.cpu_us_per_request?);
        Some(Self { name: arm.id.clone(), plain_us: total.estimate - added.estimate, added_us: added })
    }
}

/// Width of a picture; units are pixels at its full size.
const WIDTH: f64 = 720.0;
/// Where bars begin, to the right of names.
const BEGIN: f64 = 270.0;
/// Height of a row.
const ROW: f64 = 24.0;
/// Height of a bar.
const BAR: f64 = 14.0;

/// The bars as inline SVG in the text colours of the page; empty without bars.
pub(super) fn picture(bars: &[Bar]) -> String {
    let end = |bar: &Bar| bar.plain_us.max(bar.plain_us + bar.added_us.high);
    let longest = bars.iter().map(end).fold(0.0, f64::max);
    if longest <= 0.0 {
        return String::new();
    }
    let x = |us: f64| BEGIN + us.max(0.0) / longest * (WIDTH - BEGIN - 10.0);
    let height = ROW * bars.len() as f64;
    // A blank line would end the HTML block.
    let mut text = format!(
        "\n<figure>\n<svg viewBox=\"0 0 {WIDTH} {height}\" width=\"100%\" role=\"img\" aria-label=\"CPU time per request\" \
         fill=\"currentColor\" font-size=\"13\">\n"
    );
    for (place, bar) in bars.iter().enumerate() {
        let top = ROW * place as f64 + (ROW - BAR) / 2.0;
        let (plain, total) = (x(bar.plain_us), x(bar.plain_us + bar.added_us.estimate));
        let (low, high) = (x(bar.plain_us + bar.added_us.low), x(bar.plain_us + bar.added_us.high));
        let (name, middle, base) = (escaped(&bar.name), top + BAR / 2.0, top + BAR - 3.0);
        let left = BEGIN - 8.0;
        text += &format!(
            "<text x=\"{left}\" y=\"{base}\" text-anchor=\"end\">{name}</text>\n",
            left = ungrouped(left, 1),
            base = ungrouped(base, 1)
        );
        text += &rectangle(BEGIN, plain.min(total) - BEGIN, top, "opacity=\"0.3\"");
        text += &rectangle(plain.min(total), (total - plain).abs(), top, "fill=\"#2f6fde\"");
        text += &format!(
            "<path d=\"M{low} {middle}H{high}\" stroke=\"currentColor\" stroke-width=\"2\"/>\n",
            low = ungrouped(low, 1),
            middle = ungrouped(middle, 1),
            high = ungrouped(high, 1)
        );
    }
    text += &format!(
        "</svg>\n<figcaption>CPU time per request: plain proxying in grey, the addition in blue, its 95 % interval as a line. The longest \
         ends at {longest} us.</figcaption>\n</figure>\n",
        longest = grouped(longest, 1)
    );
    text
}

fn rectangle(left: f64, width: f64, top: f64, look: &str) -> String {
    format!(
        "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{BAR}\" {look}/>\n",
        left = ungrouped(left, 1),
        top = ungrouped(top, 1),
        width = ungrouped(width, 1)
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prices;

    fn bar(estimate: f64) -> Bar {
        Bar { name: "a<b".to_owned(), plain_us: 50.0, added_us: Interval::around(estimate, 5.0) }
    }

    #[test]
    fn the_bar_of_an_arm_ends_at_its_cpu_time_under_the_load_of_its_price() {
        let listed = prices::published().unwrap();
        let arm = listed.arms.iter().find(|arm| arm.id == "jwt").unwrap();
        let bar = Bar::of_arm(arm, listed).unwrap();
        assert!(bar.plain_us > 0.0 && Some(bar.added_us) == arm.cost.cpu_us_per_request, "{bar:?}");
    }

    #[test]
    fn the_added_time_begins_where_plain_proxying_ends() {
        let drawn = picture(&[bar(45.0)]);
        // The scale has 440 units for 100 us.
        assert!(drawn.contains("x=\"270.0\" y=\"5.0\" width=\"220.0\""), "{drawn}");
        assert!(drawn.contains("x=\"490.0\" y=\"5.0\" width=\"198.0\""), "{drawn}");
        assert!(drawn.contains("M666.0 12.0H710.0"), "{drawn}");
        assert!(drawn.contains("a&lt;b") && !drawn.trim().contains("\n\n"), "{drawn}");
    }

    #[test]
    fn a_function_that_saves_time_shortens_the_grey_bar_and_nothing_has_no_picture() {
        let drawn = picture(&[bar(-10.0)]);
        // 40 of 50 us are grey, and the 10 us that are saved are blue.
        assert!(drawn.contains("x=\"270.0\" y=\"5.0\" width=\"352.0\""), "{drawn}");
        assert!(drawn.contains("x=\"622.0\" y=\"5.0\" width=\"88.0\""), "{drawn}");
        assert_eq!(picture(&[]), "");
    }
}
