// Whether the window is narrow, as that of a phone is.

import { useEffect, useState } from "preact/hooks";

/** The width up to which styles are those of narrow windows. */
const NARROW = "(max-width: 620px)";

/** Whether the window is narrow now. */
export function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  useEffect(() => {
    const query = matchMedia(NARROW);
    const hear = () => setNarrow(query.matches);
    query.addEventListener("change", hear);
    return () => query.removeEventListener("change", hear);
  }, []);
  return isNarrow;
}
