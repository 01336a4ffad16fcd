// Lines through places, as far as they are between two edges of a drawing.

/** A place of a drawing. */
export type Place = [number, number];

/** The share of the way from a value to another at which a third one is. */
export function shareOf(from: number, to: number, at: number): number {
  return (at - from) / (to - from);
}

/** The part of the way from a place to another that is between two edges; none if there is none. */
function cut([x1, y1]: Place, [x2, y2]: Place, [left, right]: [number, number]): [Place, Place] | undefined {
  if (x2 < left || x1 > right) {
    return undefined;
  }
  const at = (edge: number): Place => [edge, y1 + (y2 - y1) * shareOf(x1, x2, edge)];
  return [x1 < left ? at(left) : [x1, y1], x2 > right ? at(right) : [x2, y2]];
}

/** The path through places from left to right, with a gap where none is; empty without two that are beside each other. */
export function pathOf(places: (Place | undefined)[], edges: [number, number]): string {
  let path = "";
  let end = "";
  places.slice(1).forEach((place, before) => {
    const from = places[before];
    const part = from && place && cut(from, place, edges);
    if (part) {
      const [start = "", next = ""] = part.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`);
      path += `${start === end ? "" : `M${start}`}L${next}`;
      end = next;
    }
  });
  return path;
}
