// Draws a scene, and says the value at the pointer or at the place that the arrow keys have stepped to.

import { useEffect, useRef, useState } from "preact/hooks";
import { nearest, type LegendEntry, type Scene, type Shape } from "./chart/scene";
import { pointOf } from "./chart/forest";
import { single } from "./chart/series";

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
}

/** A chart. */
export function Drawing({ title, scene, onChoose, onLeave }: DrawingProps) {
  const [active, setActive] = useState<number | undefined>(undefined);
  // What was chosen may change the chart, and with it the place of its mark.
  const followed = useRef<string | undefined>(undefined);
  const [isByKey, setByKey] = useState(false);
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
  const leave = () => {
    followed.current = undefined;
    setActive(undefined);
  };

  const atPointer = (event: PointerEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    // The drawing may be shown smaller than it is, in print for one.
    const scale = scene.width / box.width;
    return nearest(scene, (event.clientX - box.left) * scale, (event.clientY - box.top) * scale);
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
    if (event.key === "Escape") {
      followed.current = mark?.id;
      if (onLeave?.() !== true) {
        leave();
      }
    } else if ((event.key === "Enter" || event.key === " ") && mark?.id !== undefined && onChoose) {
      event.preventDefault();
      choose(mark.id);
    } else if (place !== undefined && count > 0) {
      event.preventDefault();
      setByKey(true);
      setActive(place);
    }
  };

  const help = onChoose ? `Arrow keys step through the values, Enter selects one${onLeave ? ", Escape goes back" : ""}.` : "Arrow keys step through the values.";
  return (
    <div class={onChoose ? "drawing choosing" : "drawing"}>
      <svg
        viewBox={`0 0 ${scene.width} ${scene.height}`}
        width={scene.width}
        height={scene.height}
        role="group"
        aria-roledescription="chart"
        aria-label={count > 0 ? `${title}. ${count} values. ${help}` : title}
        tabIndex={count > 0 ? 0 : -1}
        onKeyDown={step}
        onBlur={leave}
        onPointerMove={(event) => {
          // A pointer at rest, over which a choice by key has moved the chart, takes no place from the keys.
          if (isByKey && event.movementX === 0 && event.movementY === 0) {
            return;
          }
          setByKey(false);
          setActive(atPointer(event));
        }}
        onPointerLeave={() => isByKey || leave()}
        onClick={(event) => {
          const place = atPointer(event as unknown as PointerEvent);
          const id = place === undefined ? undefined : scene.marks[place]?.id;
          if (id !== undefined && onChoose) {
            choose(id);
          }
        }}
      >
        <g aria-hidden="true">
          {mark && scene.near === "y" && <rect class="row-active" x={0} width={scene.width} y={mark.y - 11} height={22} />}
          {mark && scene.near === "x" && <line class="column-active" x1={mark.x} x2={mark.x} y1={0} y2={scene.height - 30} />}
          {scene.shapes.map((shape, place) => drawn(shape, place))}
          {mark && (mark.box ? <rect class="active" {...mark.box} /> : <circle class="active" cx={mark.x} cy={mark.y} r={7} />)}
        </g>
      </svg>
      {mark && (
        <div class="tip" style={tipPlace(mark.x, mark.y, scene)} aria-hidden="true">
          <b>{mark.name}</b>
          {mark.values.map((value) => (
            <span key={value}>{value}</span>
          ))}
        </div>
      )}
      <div class="unseen" aria-live="polite">
        {mark && isByKey ? `${mark.name}: ${mark.values.join("; ")}` : ""}
      </div>
      {scene.legend.length > 0 && (
        <ul class="legend">
          {scene.legend.map((entry) => (
            <li key={entry.name}>
              <Swatch entry={entry} />
              {entry.name}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** The sign of an entry of the legend, as it is drawn in the chart. */
function Swatch({ entry }: { entry: LegendEntry }) {
  const [form = "", tone = ""] = (entry.of ?? "").split(" ");
  const shape = (): Shape => {
    switch (form) {
      case "curve":
        return { kind: "line", x1: 0, x2: 22, y1: 7, y2: 7, of: entry.of ?? "" };
      case "point":
        return pointOf(tone, 11, 7);
      case "single":
        return single(11, 7, tone);
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

/** Beside the mark, on the side where there is more room. */
function tipPlace(x: number, y: number, scene: Scene): Record<string, string> {
  const share = `${((100 * x) / scene.width).toFixed(2)}%`;
  const [side, shift] = x < scene.width / 2 ? ["0", "12px"] : ["-100%", "-12px"];
  const up = y > scene.height * 0.6 ? "-100%" : "0";
  return { left: share, top: `${y + (up === "0" ? 12 : -12)}px`, transform: `translate(calc(${side} + ${shift}), ${up})` };
}

function drawn(shape: Shape, key: number) {
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
          {shape.text}
        </text>
      );
  }
}
