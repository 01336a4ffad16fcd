// The field of a configuration: its text is written, or taken from a file that is chosen or dropped. The file is read here, and its text sent
// with the rest of the form.

import { useState } from "preact/hooks";
import { common, Labelled, type FieldProps } from "./field";
import { MOST_BYTES } from "./kinds/bill";

interface ConfigurationProps extends FieldProps {
  /** Takes the text of a file, and its name. */
  take: (text: string, name: string) => void;
  /** Says why a file cannot be taken. */
  refuse: (why: string) => void;
}

/** What is to be known of a file before it is read. */
interface Given {
  name: string;
  size: number;
}

/** Why files cannot be taken; undefined if they can. */
export function whyNot(files: readonly Given[]): string | undefined {
  const [file, ...more] = files;
  if (file === undefined) {
    return "that is not a file: drop a configuration file";
  }
  if (more.length > 0) {
    return `these are ${files.length} files: a bill covers one configuration, so drop one file`;
  }
  return file.size > MOST_BYTES ? `${file.name} has more than 4 MiB: price it with \`hoptax price FILE\`` : undefined;
}

/** The field, onto which a file can be dropped. */
export function ConfigurationField({ take, refuse, ...props }: ConfigurationProps) {
  const [isOver, setOver] = useState(false);
  const read = async (files: FileList | null | undefined) => {
    const given = [...(files ?? [])];
    const why = whyNot(given);
    const [file] = given;
    if (why !== undefined || file === undefined) {
      refuse(why ?? "");
      return;
    }
    try {
      take(await file.text(), file.name);
    } catch (error) {
      refuse(`${file.name} cannot be read: ${String(error)}`);
    }
  };
  const drag = (event: DragEvent, is: boolean) => {
    // Without this, a browser opens the file instead of the page.
    event.preventDefault();
    setOver(is);
  };
  return (
    <div
      class={isOver ? "drop over" : "drop"}
      onDragOver={(event) => drag(event, true)}
      onDragLeave={(event) => drag(event, false)}
      onDrop={(event) => {
        drag(event, false);
        void read(event.dataTransfer?.files);
      }}
    >
      <Labelled {...props}>
        <textarea {...common(props)} rows={5} autocomplete="off" autocapitalize="off" spellcheck={false} placeholder="drop a file here, or write the text" />
      </Labelled>
      <label class="file">
        Or choose a file
        <input
          type="file"
          accept=".yaml,.yml,.json,.txt"
          onChange={(event) => {
            const chosen = event.currentTarget;
            // The same file may be chosen again once it has changed.
            void read(chosen.files).then(() => (chosen.value = ""));
          }}
        />
      </label>
    </div>
  );
}
