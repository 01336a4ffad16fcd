// A waterfall of a configuration or a graph: switches for what-if, and the cores, money, memory and response time of what is left.

import { services, servicesTable } from "../chart/services";
import { ends, less, otherSaved, saved, steps, waterfall, without, type Ends } from "../chart/waterfall";
import { plain, withHalf } from "../chart/scale";
import { Figure } from "../figure";
import { inert, unbroken } from "../text";
import type { Waterfall } from "../types/document";
import type { View } from "../view";

/** Microseconds of a second. */
const US = 1e6;
/** Between the names of the parts in the view. */
const SEPARATOR = "|";

interface WaterfallProps {
  data: Waterfall;
  view: View;
  change: (changes: View) => void;
}

/** A number of the view, or what the result states. */
function stated(view: View, name: string, otherwise: number | null | undefined): number | undefined {
  const value = Number.parseFloat(view[name] ?? "");
  return Number.isFinite(value) && value >= 0 ? value : (otherwise ?? undefined);
}

/** The chart with its switches. */
export function WaterfallBlock({ data, view, change }: WaterfallProps) {
  const off = new Set((view["off"] ?? "").split(SEPARATOR).filter((name) => data.parts.some((part) => part.name === name)));
  const toggle = (name: string) => {
    const next = new Set(off);
    if (!next.delete(name)) {
      next.add(name);
    }
    change({ off: [...next].join(SEPARATOR) });
  };
  const rate = stated(view, "rate", data.rate);
  const price = stated(view, "price", data.price_per_core_hour);
  const whole = ends(data.whole);
  const left = off.size > 0 ? without(data, off) : undefined;
  const whatIf = left && { left, saved: saved(data, off) };
  const isOfRequest = data.unit === "us";
  const { graph } = data;
  // Cores of a unit of the costs; not known without a rate.
  const perUnit = isOfRequest ? (rate === undefined ? undefined : rate / US) : 1;
  const bars = (
    <Figure
      title={data.title}
      scene={(width) => waterfall(data, off, width)}
      rows={() => [["", data.axis], ...steps(data, off).map((step) => [step.name, step.value])]}
      onChoose={(name) => data.parts.some((part) => part.name === name) && toggle(name)}
      note="Thin lines: intervals. Grey: a part that is switched off, or whose cost may be zero. Select a part to switch it."
    />
  );
  return (
    <>
      <fieldset class="parts">
        <legend>What if a part were switched off</legend>
        {data.parts.map((part) => (
          <label key={part.name} class="check">
            <input type="checkbox" checked={!off.has(part.name)} onChange={() => toggle(part.name)} />
            {inert(part.name)} <small>{part.cost.text} {data.unit}</small>
          </label>
        ))}
      </fieldset>
      {graph ? (
        <Figure
          title={graph.title}
          scene={(width) => services(graph, data, off, width)}
          rows={() => servicesTable(graph, data, off)}
          onChoose={(name) => data.parts.some((part) => part.name === name) && toggle(name)}
          note="Circles: services, hollow without a proxy. Squares: functions, on the line of the calls that they act on; dashed: switched off. Select one to switch it. Dashed lines: calls to a service that another one calls, too."
        />
      ) : (
        bars
      )}
      <div class="switches">
        {isOfRequest && (
          <label>
            Requests per second
            <input type="number" min="0" step="any" value={rate ?? ""} onInput={(event) => change({ rate: event.currentTarget.value })} />
          </label>
        )}
        <label>
          Price of a core for an hour
          <input type="number" min="0" step="any" value={price ?? ""} onInput={(event) => change({ price: event.currentTarget.value })} />
        </label>
      </div>
      {whole && (
        <dl class="numbers" aria-live="polite">
          {isOfRequest && <Amount name="CPU time per request, us" whole={whole} whatIf={whatIf} factor={1} />}
          {perUnit !== undefined && <Amount name={isOfRequest ? `cores at ${plain(rate ?? 0)} requests/s` : "cores"} whole={whole} whatIf={whatIf} factor={perUnit} />}
          {perUnit !== undefined && price !== undefined && <Amount name="for these cores, a month" whole={whole} whatIf={whatIf} factor={perUnit * price * data.hours_per_month} />}
          {data.also.map((_, place) => (
            <Other key={place} data={data} off={off} place={place} />
          ))}
        </dl>
      )}
      {off.size > 0 && (
        <p class="note">
          Predicted: the whole less what each part costs alone. Parts that interact save another amount{data.together ? `; all parts together differ from their sum by ${data.together.text} ${data.unit}` : ""}. To know, measure the changed configuration.
        </p>
      )}
      {graph && bars}
    </>
  );
}

interface WhatIf {
  left: Ends;
  saved: Ends;
}

interface AmountProps {
  name: string;
  whole: Ends;
  /** The whole without the parts that are switched off, and what that saves, whose interval is narrower. */
  whatIf: WhatIf | "not known" | undefined;
  factor: number;
}

/** Another number of the whole, with its money if it has a price. */
function Other({ data, off, place }: { data: Waterfall; off: ReadonlySet<string>; place: number }) {
  const other = data.also[place];
  const whole = ends(other?.whole);
  if (other === undefined || whole === undefined) {
    return null;
  }
  const added = otherSaved(data, off, place);
  const whatIf = off.size === 0 ? undefined : added === undefined ? "not known" : { left: less(whole, added), saved: added };
  const price = other.price_per_hour ?? undefined;
  return (
    <>
      <Amount name={other.name} whole={whole} whatIf={whatIf} factor={1} />
      {price !== undefined && (
        <Amount name={`for the ${other.name.split(",")[0] ?? ""}, a month`} whole={whole} whatIf={whatIf} factor={price * data.hours_per_month} />
      )}
    </>
  );
}

/** A number of the whole, and what is left of it. */
function Amount({ name, whole, whatIf, factor }: AmountProps) {
  const words = (of: Ends) => unbroken(withHalf(of.estimate * factor, ((of.high - of.low) / 2) * factor));
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {words(whole)}
        {whatIf && <small> → {whatIf === "not known" ? whatIf : `${words(whatIf.left)}; saves ${words(whatIf.saved)}`}</small>}
      </dd>
    </div>
  );
}
