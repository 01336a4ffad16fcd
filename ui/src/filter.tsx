// The way back from a filter that leaves nothing.

interface ShowAllProps {
  /** The field that has the words, to which the focus moves: the button is gone then. */
  field: { current: HTMLInputElement | null };
  show: () => void;
}

/** A button that takes a filter back which leaves nothing. */
export function ShowAll({ field, show }: ShowAllProps) {
  const take = () => {
    field.current?.focus();
    show();
  };
  return (
    <button type="button" class="quiet" onClick={take}>
      Show all
    </button>
  );
}
