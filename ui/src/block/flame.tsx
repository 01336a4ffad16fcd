// CPU time by frame: a choice of the arm, its flame graph, the frame that a reader has gone into, and those that a reader looks for.

import { useRef } from "preact/hooks";
import { flame, flameRows, found } from "../chart/flame";
import { Figure } from "../figure";
import { inert } from "../text";
import type { Flame } from "../types/document";
import type { View } from "../view";
import { Choice } from "./costs";

interface FlameProps {
  data: Flame;
  view: View;
  change: (changes: View) => void;
}

/** The graph with the choice of the arm. */
export function FlameBlock({ data, view, change }: FlameProps) {
  const find = useRef<HTMLInputElement>(null);
  // An arm that is compared with another shows more.
  const arm = data.arms.find((one) => one.arm === view["flame"]) ?? data.arms.find((one) => one.compared_with) ?? data.arms[0];
  if (arm === undefined) {
    return null;
  }
  const place = Number.parseInt(view["frame"] ?? "", 10);
  const zoom = (arm.frames[place]?.whole.us ?? 0) > 0 ? place : 0;
  const out = () => {
    if (zoom === 0) {
      return false;
    }
    change({ frame: "" });
    return true;
  };
  // The button that has the focus goes with it.
  const leave = () => {
    find.current?.focus();
    out();
  };
  const inside = arm.frames[zoom];
  const named = view["named"] ?? "";
  const edged = found(arm.frames, named);
  return (
    <>
      <div class="switches">
        {data.arms.length > 1 && (
          <Choice name="Arm" value={arm.arm} options={data.arms.map((one) => [one.arm, one.arm])} choose={(flame) => change({ flame, frame: "" })} />
        )}
        <label>
          Find frames
          <input ref={find} type="search" value={named} placeholder="a part of a name" onInput={(event) => change({ named: event.currentTarget.value })} />
        </label>
        <span role="status" class="soft count">
          {edged && `${edged.places.size} of ${arm.frames.length} frames, ${(100 * edged.share).toFixed(1)} % of the CPU time with all that they call`}
        </span>
      </div>
      {/* What was there before is said when it changes. */}
      <div role="status">
        {zoom > 0 && inside && (
          <p class="note">
            Only <code>{inert(inside.name)}</code> and the frames that it calls.{" "}
            <button type="button" class="quiet" onClick={leave}>
              Show all frames
            </button>
          </p>
        )}
      </div>
      <Figure
        title={`CPU time of ${arm.arm} by frame${arm.compared_with ? `, beside ${arm.compared_with}` : ""}`}
        name="frames"
        scene={(width) => flame(arm, data, zoom, width, edged?.places)}
        rows={() => flameRows(arm)}
        onChoose={(id) => change({ frame: id === "0" ? "" : id })}
        onLeave={out}
        note={
          <>
            Select a frame to see only what it calls; Escape shows all again. The time of small frames, with less than 0.5 % in both arms, is that of the
            one that calls them.
            {arm.compared_with
              ? " The stronger a colour, the larger the difference. Intervals are of one frame each: of 100 frames without a true difference, about 5 have a colour. The table has frames that only the other arm runs, too."
              : ""}
          </>
        }
      />
    </>
  );
}
