import { useRef, useState } from "preact/hooks";

const SHOWN_MS = 1_200;

/** Copies a text; true for a moment afterwards. */
function useCopy(text: string): [isCopied: boolean, copy: () => Promise<void>] {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), SHOWN_MS);
  };
  return [isCopied, copy];
}

/** A button that copies a text; its label confirms that for a moment. */
export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [isCopied, copy] = useCopy(text);
  return (
    <button type="button" class="button small" onClick={() => void copy()}>
      {isCopied ? "Copied" : label}
    </button>
  );
}

/** An id that is copied with a click. */
export function Id({ value, shown = value }: { value: string; shown?: string }) {
  const [isCopied, copy] = useCopy(value);
  const press = (event: Event): void => {
    event.preventDefault();
    event.stopPropagation();
    void copy();
  };
  return (
    <button type="button" class="id" title={`Copy ${value}`} onClick={press} data-testid="id">
      {isCopied ? "copied" : shown}
    </button>
  );
}

/** Ids and links behind one button, each copied with a click. */
export function CopyMenu(props: { label: string; texts: Readonly<Record<string, string>> }) {
  const menu = useRef<HTMLDetailsElement>(null);
  const close = (): void => void (menu.current !== null && (menu.current.open = false));
  return (
    <details
      ref={menu}
      class="copy-menu"
      data-testid="copy-menu"
      onKeyDown={(event) => event.key === "Escape" && close()}
    >
      <summary class="button small">{props.label}</summary>
      <ul>
        {Object.entries(props.texts).map(([name, text]) => (
          <li key={name} title={text}>
            <CopyButton text={text} label={name} />
          </li>
        ))}
      </ul>
    </details>
  );
}

/** A command or another text of several lines with a button that copies it. */
export function Snippet({ text, label }: { text: string; label: string }) {
  return (
    <div class="snippet">
      <pre tabIndex={0} role="group" aria-label={label}>
        {text}
      </pre>
      <CopyButton text={text} />
    </div>
  );
}
