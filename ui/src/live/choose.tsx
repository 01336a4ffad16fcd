// Says which runs are chosen in the list, and leads to them beside each other.

import type { Table } from "../types/document";
import { choiceInWords, compareAddress, FEWEST } from "./choice";

interface ChooseProps {
  table: Table;
  chosen: string[];
  clear: () => void;
}

/** The choice above the list. */
export function Choose({ table, chosen, clear }: ChooseProps) {
  return (
    <p class="choice">
      <span role="status">{choiceInWords(table, chosen)}</span>
      {chosen.length >= FEWEST && (
        <a class="action" href={compareAddress(chosen)}>
          Compare {chosen.length} runs
        </a>
      )}
      {/* It stays where it has the focus. */}
      <button type="button" class="quiet" aria-disabled={chosen.length === 0} onClick={() => chosen.length > 0 && clear()}>
        Choose none
      </button>
    </p>
  );
}
