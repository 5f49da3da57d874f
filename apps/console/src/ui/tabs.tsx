import { useEffect, useRef } from "preact/hooks";

/** A choice of views of the same object; the address may keep the choice. */
export function Tabs(props: {
  label: string;
  tabs: readonly { readonly id: string; readonly title: string }[];
  chosen: string;
  onChoose: (id: string) => void;
}) {
  const { label, tabs, chosen, onChoose } = props;
  const row = useRef<HTMLDivElement>(null);
  // On a narrow screen the row scrolls.
  useEffect(() => {
    row.current
      ?.querySelector('[aria-selected="true"]')
      ?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [chosen]);
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const at = tabs.findIndex(({ id }) => id === chosen);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (next === undefined) return;
    onChoose(next.id);
    row.current?.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus();
  };
  return (
    <div ref={row} class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map(({ id, title }) => (
        <button
          key={id}
          type="button"
          role="tab"
          data-tab={id}
          aria-selected={id === chosen}
          tabIndex={id === chosen ? 0 : -1}
          onClick={() => onChoose(id)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}
