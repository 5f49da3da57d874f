import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { navigate } from "../core/router.ts";
import { Dialog } from "./dialog.tsx";
import { useTargets, type Target } from "./palette-targets.ts";

const isOpen = signal(false);
const MOST = 12;

export function openPalette(): void {
  isOpen.value = true;
}

function close(): void {
  isOpen.value = false;
}

/** Cmd-K or Ctrl-K: everything by its name. */
export function PaletteHost() {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.key !== "k" || (!event.metaKey && !event.ctrlKey)) return;
      event.preventDefault();
      isOpen.value = !isOpen.value;
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return isOpen.value ? <Palette /> : null;
}

function Palette() {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const found = useTargets(text).filter(({ name, kind, also = "" }) =>
    `${kind} ${name} ${also}`.toLowerCase().includes(text.trim().toLowerCase()),
  );
  const shown = found.slice(0, MOST);
  const go = (target: Target | undefined): void => {
    if (target === undefined) return;
    close();
    if (target.run === undefined) navigate(target.href);
    else target.run();
  };
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter") go(shown[at]);
    if (event.key === "Enter" || step !== undefined) event.preventDefault();
    if (step !== undefined && shown.length > 0) setAt((at + step + shown.length) % shown.length);
  };
  return (
    <Dialog title="Go to" onClose={close} testId="palette" isSearch>
      <input
        type="search"
        role="combobox"
        list={undefined}
        aria-label="Name of a view, run, agent, tool, skill, server or anything else"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={shown[at] === undefined ? undefined : `palette-${at}`}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      <ul id="palette-list" class="palette" role="listbox" aria-label="Found">
        {shown.map((target, index) => (
          <li
            key={target.href}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => go(target)}
          >
            <span class="label">{target.kind}</span> {target.name}
          </li>
        ))}
      </ul>
      {shown.length === 0 && <p class="quiet">Nothing is called that.</p>}
    </Dialog>
  );
}
