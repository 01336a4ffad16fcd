// The menu of the parts of a page: links that jump, in the margin of a wide window, and elsewhere in a bar that unfolds.

import type { ComponentChildren } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { headingId, placeInView, type Part } from "./parts";
import { changed, PageView, written } from "./view";

/** A heading counts as passed a little below the place that a jump leaves it at, pixels from the top of the window. */
const LINE = 80;

/** The menu. */
export function Menu({ parts }: { parts: Part[] }) {
  const [view] = useContext(PageView);
  const [isOpen, setOpen] = useState(false);
  const [place, setPlace] = useState(0);
  const nav = useRef<HTMLElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const chosen = parts.findIndex(({ name }) => name === view["part"]);
  const lastChosen = useRef(chosen);
  lastChosen.current = chosen;

  useEffect(() => {
    let frame = 0;
    const look = () => {
      frame = 0;
      const tops = parts.map(({ name }) => document.getElementById(headingId(name))?.getBoundingClientRect().top ?? 0);
      const isAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
      setPlace(placeInView(tops, LINE, isAtEnd, lastChosen.current));
    };
    const lookSoon = () => {
      frame ||= requestAnimationFrame(look);
    };
    lookSoon();
    addEventListener("scroll", lookSoon, { passive: true });
    addEventListener("resize", lookSoon);
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener("scroll", lookSoon);
      removeEventListener("resize", lookSoon);
    };
  }, []);
  // A link to a part opens there, once the charts above it are drawn.
  useEffect(() => {
    const part = parts[chosen];
    if (part !== undefined) {
      requestAnimationFrame(() => requestAnimationFrame(() => show(part.name)));
    }
  }, [chosen]);
  useEffect(() => {
    const close = (event: PointerEvent) => {
      if (!nav.current?.contains(event.target as Node)) {
        setOpen(false);
      }
    };
    document.addEventListener("pointerdown", close);
    return () => document.removeEventListener("pointerdown", close);
  }, []);

  return (
    <nav
      ref={nav}
      class={isOpen ? "menu open" : "menu"}
      aria-label="Parts of this page"
      onKeyDown={(event) => {
        if (event.key === "Escape" && isOpen) {
          setOpen(false);
          button.current?.focus();
        }
      }}
      onFocusOut={(event) => {
        if (event.relatedTarget instanceof Node && !nav.current?.contains(event.relatedTarget)) {
          setOpen(false);
        }
      }}
    >
      <button ref={button} type="button" class="quiet" aria-expanded={isOpen} aria-controls="menu-parts" onClick={() => setOpen(!isOpen)}>
        Parts of this page
      </button>
      <span class="soft" aria-hidden="true">
        {parts[place]?.title}
      </span>
      <ol id="menu-parts">
        {parts.map((part, at) => (
          <li key={part.name}>
            <PartLink name={part.name} isCurrent={at === place} onJump={() => setOpen(false)}>
              {part.title}
            </PartLink>
          </li>
        ))}
      </ol>
    </nav>
  );
}

interface PartLinkProps {
  /** The name of the part. */
  name: string;
  /** Whether the part is the one in view. */
  isCurrent?: boolean;
  /** What a jump does beside. */
  onJump?: () => void;
  children: ComponentChildren;
}

/** A link that jumps to a part: one to a view. */
export function PartLink({ name, isCurrent = false, onJump, children }: PartLinkProps) {
  const [view, change] = useContext(PageView);
  const jump = (event: MouseEvent) => {
    // The link opens elsewhere.
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) {
      return;
    }
    event.preventDefault();
    onJump?.();
    change({ part: name });
    show(name)?.focus({ preventScroll: true });
  };
  return (
    <a href={written(changed(view, { part: name }))} aria-current={isCurrent ? "location" : undefined} onClick={jump}>
      {children}
    </a>
  );
}

/** Scrolls to the heading of a part, and unfolds it. */
function show(name: string): HTMLElement | null {
  const heading = document.getElementById(headingId(name));
  const folded = heading?.closest("details");
  if (folded) {
    folded.open = true;
  }
  heading?.scrollIntoView();
  return heading;
}
