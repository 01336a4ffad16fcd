// Small charts beside each other: a name selects the group that is shown large where there are many.

import { isOfPercentiles, onLinear, series, seriesRows } from "../chart/series";
import { fileName } from "../csv";
import { Figure } from "../figure";
import { bare, Words } from "../text";
import { useTimes } from "../times";
import type { Group, Series } from "../types/document";
import type { View } from "../view";
import { Choice } from "./costs";

/** With more groups, one is shown at a time. */
const MOST = 8;
const HEIGHT = 210;

interface GroupsProps {
  groups: Group[];
  /** The section that they are in, which names the choice in the view. */
  of: string;
  view: View;
  change: (changes: View) => void;
}

/** The groups. */
export function GroupsBlock({ groups, of, view, change }: GroupsProps) {
  const isMany = groups.length > MOST;
  const chosen = groups.find((group) => group.name === view[of]) ?? groups[0];
  const shown = isMany ? groups.filter((group) => group === chosen) : groups;
  return (
    <>
      {isMany && chosen && (
        <div class="switches">
          <Choice name="Show" value={chosen.name} options={groups.map((group) => [group.name, group.name])} choose={(name) => change({ [of]: name })} />
        </div>
      )}
      {shown.map((group) => (
        <section key={group.name} class="group" aria-label={bare(group.name)}>
          <h3>
            <Words text={group.name} />
          </h3>
          <div class="beside">
            {group.charts.map((chart) => (
              // A title that is that of the section is above all groups.
              <SeriesBlock key={chart.title} data={chart} height={HEIGHT} isTitled={fileName(chart.title) !== of} name={`${group.name}: ${chart.title}`} />
            ))}
          </div>
        </section>
      ))}
    </>
  );
}

interface SeriesProps {
  data: Series;
  height: number;
  /** True if its title is shown, and not only said. */
  isTitled?: boolean;
  /** What tells it from the other charts of the page, if its title does not. */
  name?: string;
}

/** One chart of lines. */
export function SeriesBlock({ data, height, isTitled = true, name }: SeriesProps) {
  const [isLinear] = useTimes();
  const hasTimes = isOfPercentiles(data);
  const drawn = hasTimes && isLinear ? onLinear(data) : data;
  return (
    <Figure
      title={data.title}
      name={name}
      isTitled={isTitled}
      axis={data.x.label}
      hasTimes={hasTimes}
      scene={(width, range) => series(drawn, width, height, range)}
      rows={() => seriesRows(data)}
    />
  );
}
