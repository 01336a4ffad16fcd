// Draws a scene, and says the value at the pointer or at the place that the arrow keys have stepped to.

import { useEffect, useRef, useState } from "preact/hooks";
import { between, rangeWords, type Extent, type Range } from "./chart/range";
import { nearest, type Box, type LegendEntry, type Scene, type Shape } from "./chart/scene";
import { pointOf } from "./chart/forest";
import { single } from "./chart/series";
import { sliceDot } from "./chart/slices";
import { bare, Words } from "./text";

/** The width of an element as it changes; zero until it is known. */
export function useWidth(): [{ current: HTMLDivElement | null }, number] {
  const element = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const box = element.current;
    if (box === null) {
      return;
    }
    const read = () => setWidth(Math.floor(box.clientWidth));
    read();
    const observer = new ResizeObserver(read);
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  return [element, width];
}

interface DrawingProps {
  title: string;
  scene: Scene;
  /** What choosing a mark does. */
  onChoose?: (id: string) => void;
  /** What Escape does before it leaves the marks; false if there was nothing to do. */
  onLeave?: () => boolean;
  /** What choosing a range of the horizontal axis does; what it leaves, Escape and a double click do. */
  onRange?: (range: Range) => void;
}

/** Where a reader has begun to choose a range, and where the pointer or the keys are. */
interface Selection {
  from: number;
  to: number;
  /** The mark that keys have begun at. */
  mark?: number;
}

/** A place in the window or in the drawing. */
interface Place {
  x: number;
  y: number;
}

/** A pointer that has rested for so long may move on to what is said at its place, ms. */
const REST_MS = 300;
/** The space beside that, pixels. */
const BESIDE = 4;

/** Whether a pointer is straight on its way from the place where it rested to what is said there, or on that. */
export function isOnWay(pointer: Place, from: Place, to: Pick<DOMRect, "left" | "right" | "top" | "bottom">): boolean {
  // So many times as far in the same direction, it is between two ends.
  const times = (way: number, start: number, end: number): [number, number] => {
    const [one, other] = [(start - BESIDE) / way, (end + BESIDE) / way];
    // Straight along the other axis, it always is or never.
    return way === 0 ? (start - BESIDE <= 0 && end + BESIDE >= 0 ? [-Infinity, Infinity] : [Infinity, -Infinity]) : [Math.min(one, other), Math.max(one, other)];
  };
  const across = times(pointer.x - from.x, to.left - from.x, to.right - from.x);
  const down = times(pointer.y - from.y, to.top - from.y, to.bottom - from.y);
  return Math.max(1, across[0], down[0]) <= Math.min(across[1], down[1]);
}

/** A chart. */
export function Drawing({ title, scene, onChoose, onLeave, onRange }: DrawingProps) {
  const [active, setActive] = useState<number | undefined>(undefined);
  // What was chosen may change the chart, and with it the place of its mark.
  const followed = useRef<string | undefined>(undefined);
  const [isByKey, setByKey] = useState(false);
  // Beside it, what is said covers nothing that the pointer is at.
  const [pointed, setPointed] = useState(0);
  const [rested, setRested] = useState<Place | undefined>(undefined);
  const timer = useRef(0);
  const svg = useRef<SVGSVGElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  // A pointer at rest brings back nothing that Escape has taken away.
  const isDismissed = useRef(false);
  const [selection, setSelection] = useState<Selection | undefined>(undefined);
  const mark = active === undefined ? undefined : scene.marks[active];
  const count = scene.marks.length;

  useEffect(() => {
    const id = followed.current;
    followed.current = undefined;
    if (id !== undefined && mark?.id !== id) {
      const place = scene.marks.findIndex((one) => one.id === id);
      setActive(place < 0 ? undefined : place);
    }
  }, [scene]);
  const choose = (id: string) => {
    followed.current = id;
    onChoose?.(id);
  };
  const restNoMore = () => {
    clearTimeout(timer.current);
    setRested(undefined);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  const leave = () => {
    followed.current = undefined;
    restNoMore();
    setActive(undefined);
    setSelection(undefined);
  };
  const isPointed = mark !== undefined && !isByKey;
  // Whoever points has the focus elsewhere.
  useEffect(() => {
    if (!isPointed) {
      return;
    }
    const dismiss = (event: KeyboardEvent) => {
      if (event.key === "Escape") {
        isDismissed.current = true;
        leave();
      }
    };
    document.addEventListener("keydown", dismiss);
    return () => document.removeEventListener("keydown", dismiss);
  }, [isPointed]);

  const { extent } = scene;
  const range = extent && selection && between(extent, selection.from, selection.to);
  const chooseRange = () => {
    setSelection(undefined);
    if (range !== undefined) {
      // Its marks have other places, and others may be gone.
      setActive(undefined);
      onRange?.(range);
    }
  };
  const placeOf = (event: MouseEvent): Place => {
    const { left, top, width } = svg.current?.getBoundingClientRect() ?? { left: 0, top: 0, width: scene.width };
    // The drawing may be shown smaller than it is, in print for one.
    const scale = scene.width / width;
    return { x: (event.clientX - left) * scale, y: (event.clientY - top) * scale };
  };
  const atPointer = (event: MouseEvent) => {
    const { x, y } = placeOf(event);
    return nearest(scene, x, y);
  };
  const point = (event: PointerEvent) => {
    const place = atPointer(event);
    if (place !== active) {
      setPointed(placeOf(event).x);
    }
    setActive(place);
    restNoMore();
    if (place !== undefined && selection === undefined) {
      const { clientX: x, clientY: y } = event;
      timer.current = setTimeout(() => setRested({ x, y }), REST_MS);
    }
  };
  /** A finger reads values, and scrolls: it chooses a range with the buttons. */
  const press = (event: PointerEvent) => {
    restNoMore();
    const { x, y } = placeOf(event);
    if (onRange && extent && event.button === 0 && event.pointerType !== "touch" && x >= extent.left && x <= extent.right && y <= extent.bottom) {
      svg.current?.setPointerCapture(event.pointerId);
      setSelection({ from: x, to: x });
    }
  };
  /** Steps to a mark, from which on the keys may choose a range. */
  const stepTo = (place: number, isRange: boolean) => {
    const [from, to] = [selection?.mark ?? active ?? 0, scene.marks[place]];
    const first = scene.marks[from];
    setSelection(isRange && first && to ? { from: first.x, to: to.x, mark: from } : undefined);
    restNoMore();
    setByKey(true);
    setActive(place);
  };
  const step = (event: KeyboardEvent) => {
    const at = active ?? -1;
    const places: Record<string, number | undefined> = {
      ArrowRight: Math.min(at + 1, count - 1),
      ArrowDown: Math.min(at + 1, count - 1),
      ArrowLeft: Math.max(at - 1, 0),
      ArrowUp: Math.max(at - 1, 0),
      Home: 0,
      End: count - 1,
    };
    const place = mark?.keys?.[event.key] ?? places[event.key];
    if (event.key === "Escape" && selection) {
      setSelection(undefined);
    } else if (event.key === "Enter" && range) {
      event.preventDefault();
      chooseRange();
    } else if (event.key === "Escape") {
      followed.current = mark?.id;
      if (onLeave?.() !== true || mark?.id === undefined) {
        leave();
      }
    } else if ((event.key === "Enter" || event.key === " ") && mark?.id !== undefined && onChoose) {
      event.preventDefault();
      choose(mark.id);
    } else if (place !== undefined && count > 0) {
      event.preventDefault();
      stepTo(place, event.shiftKey && onRange !== undefined);
    }
  };

  const help = onChoose
    ? `Arrow keys step through the values, Enter selects one${onLeave ? ", Escape goes back" : ""}.`
    : `Arrow keys step through the values.${onRange ? " With Shift they select a range, which Enter shows alone. Escape shows the whole range." : ""}`;
  return (
    <div class={`drawing${onChoose ? " choosing" : ""}${onRange ? " ranged" : ""}`}>
      <svg
        ref={svg}
        viewBox={`0 0 ${scene.width} ${scene.height}`}
        width={scene.width}
        height={scene.height}
        // Readers of screens leave the arrow keys to an application.
        role={count > 0 ? "application" : "img"}
        aria-roledescription="chart"
        aria-label={bare(count > 0 ? `${title}. ${count} values. ${help}` : title)}
        tabIndex={count > 0 ? 0 : undefined}
        onKeyDown={step}
        onBlur={leave}
        onPointerMove={(event) => {
          // A pointer at rest, over which a choice by key has moved the chart, takes no place from the keys.
          if ((isByKey || isDismissed.current) && event.movementX === 0 && event.movementY === 0) {
            return;
          }
          if (rested && tip.current && isOnWay({ x: event.clientX, y: event.clientY }, rested, tip.current.getBoundingClientRect())) {
            return;
          }
          isDismissed.current = false;
          setByKey(false);
          point(event);
          if (selection && selection.mark === undefined) {
            setSelection({ ...selection, to: placeOf(event).x });
          }
        }}
        onPointerDown={press}
        onPointerUp={() => selection && selection.mark === undefined && chooseRange()}
        onPointerCancel={() => setSelection(undefined)}
        onDblClick={() => onRange && onLeave?.()}
        onPointerLeave={(event) => isByKey || tip.current?.contains(event.relatedTarget as Node | null) || leave()}
        onClick={(event) => {
          const place = atPointer(event as unknown as PointerEvent);
          const id = place === undefined ? undefined : scene.marks[place]?.id;
          if (id !== undefined && onChoose) {
            choose(id);
          }
        }}
      >
        <g aria-hidden="true">
          {mark && scene.near === "y" && <rect class="row-active" x={0} width={scene.width} y={mark.y - 12} height={24} />}
          {mark && scene.near === "x" && <line class="column-active" x1={mark.x} x2={mark.x} y1={0} y2={scene.height - 30} />}
          {scene.shapes.map((shape, place) => drawn(shape, place))}
          {extent && range && <rect class="selection" {...selected(extent, selection)} />}
          {mark && (mark.box ? <rect class="active" {...mark.box} /> : <circle class="active" cx={mark.x} cy={mark.y} r={7} />)}
        </g>
      </svg>
      {mark && (
        <div
          ref={tip}
          class={rested ? "tip rested" : "tip"}
          style={tipPlace(isByKey ? mark.x : pointed, mark.y, scene)}
          aria-hidden="true"
          onPointerDown={press}
          onPointerLeave={(event) => svg.current?.contains(event.relatedTarget as Node | null) || leave()}
        >
          <b>{bare(mark.name)}</b>
          {mark.values.map((value) => (
            <span key={value}>{bare(value)}</span>
          ))}
        </div>
      )}
      <div class="unseen" aria-live="polite">
        {mark && isByKey ? `${bare(`${mark.name}: ${mark.values.join("; ")}`)}${extent && range ? `. Selected: ${rangeWords(extent, range)}` : ""}` : ""}
      </div>
    </div>
  );
}

/** What the colours of a chart mean. */
export function Legend({ entries }: { entries: LegendEntry[] }) {
  return entries.length === 0 ? null : (
    <ul class="legend">
      {entries.map((entry) => (
        <li key={entry.name}>
          <Swatch entry={entry} />
          <Words text={entry.name} />
        </li>
      ))}
    </ul>
  );
}

/** The sign of an entry of the legend, as it is drawn in the chart. */
function Swatch({ entry }: { entry: LegendEntry }) {
  const [form = "", tone = ""] = (entry.of ?? "").split(" ");
  const shape = (): Shape => {
    switch (form) {
      case "curve":
      case "limit":
        return { kind: "line", x1: 0, x2: 22, y1: 7, y2: 7, of: entry.of ?? "" };
      case "point":
        return pointOf(tone, 11, 7);
      case "single":
        return single(11, 7, tone);
      case "dot":
        return sliceDot(11, 7, entry.of ?? "");
      default:
        return entry.isLine ? { kind: "path", d: "M0 7L22 7", of: "curve", stroke: entry.fill } : { kind: "rect", x: 4, y: 1, width: 13, height: 12, of: "swatch", fill: entry.fill };
    }
  };
  return (
    <svg width="22" height="14" aria-hidden="true">
      {drawn(shape(), 0)}
    </svg>
  );
}

/** The area of a selection between the axes. */
function selected({ left, right, top, bottom }: Extent, { from, to }: Selection): Box {
  const [start, end] = [Math.max(left, Math.min(from, to)), Math.min(right, Math.max(from, to))];
  return { x: start, y: top, width: end - start, height: bottom - top };
}

/** Beside the mark, on the side where there is more room, and no wider than that. */
export function tipPlace(x: number, y: number, scene: Pick<Scene, "width" | "height">): Record<string, string> {
  const share = (100 * x) / scene.width;
  // Without a unit, a sum with pixels would be none.
  const [side, shift] = x < scene.width / 2 ? ["0%", "12px"] : ["-100%", "-12px"];
  const up = y > scene.height * 0.6 ? "-100%" : "0";
  return {
    left: `${share.toFixed(2)}%`,
    top: `${y + (up === "0" ? 12 : -12)}px`,
    maxWidth: `min(340px, calc(${Math.max(share, 100 - share).toFixed(2)}% - 12px))`,
    transform: `translate(calc(${side} + ${shift}), ${up})`,
  };
}

/** A shape. */
export function drawn(shape: Shape, key: number) {
  switch (shape.kind) {
    case "line":
      return <line key={key} class={shape.of} x1={shape.x1} x2={shape.x2} y1={shape.y1} y2={shape.y2} />;
    case "rect":
      return <rect key={key} class={shape.of} x={shape.x} y={shape.y} width={Math.max(0, shape.width)} height={Math.max(0, shape.height)} fill={shape.fill} fill-opacity={shape.opacity} />;
    case "circle":
      return <circle key={key} class={shape.of} cx={shape.x} cy={shape.y} r={shape.radius} fill={shape.fill} />;
    case "path":
      return <path key={key} class={shape.of} d={shape.d} fill={shape.fill} stroke={shape.stroke} />;
    case "text":
      return (
        <text key={key} class={shape.of} x={shape.x} y={shape.y} text-anchor={shape.anchor ?? "start"}>
          {bare(shape.text)}
        </text>
      );
  }
}
