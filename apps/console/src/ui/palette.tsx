import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { navigate } from "../core/router.ts";
import { useResource } from "../core/resource.ts";
import { may } from "../core/session.ts";
import { shortRunId } from "../core/format.ts";
import { views } from "../routes.ts";
import { Dialog } from "./dialog.tsx";

interface Target {
  readonly kind: string;
  readonly name: string;
  readonly href: string;
}

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
  const found = useTargets().filter(({ name, kind }) =>
    `${kind} ${name}`.toLowerCase().includes(text.trim().toLowerCase()),
  );
  const shown = found.slice(0, MOST);
  const go = (target: Target | undefined): void => {
    if (target === undefined) return;
    close();
    navigate(target.href);
  };
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter") go(shown[at]);
    if (event.key === "Enter" || step !== undefined) event.preventDefault();
    if (step !== undefined && shown.length > 0) setAt((at + step + shown.length) % shown.length);
  };
  return (
    <Dialog title="Go to" onClose={close} testId="palette">
      <input
        type="search"
        role="combobox"
        list={undefined}
        aria-label="Name of a view, run, agent, tool, skill or server"
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

function useTargets(): Target[] {
  const latest = may("GET /runs") ? { query: { limit: 100 } } : null;
  const runs = useResource("GET /runs", latest, ["run"]);
  const agents = useResource("GET /agents", may("GET /agents") ? {} : null);
  const tools = useResource("GET /tools", may("GET /tools") ? {} : null);
  const skills = useResource("GET /skills", may("GET /skills") ? {} : null);
  const servers = useResource("GET /mcp/servers", may("GET /mcp/servers") ? {} : null);
  return [
    ...views.flatMap(({ title, path, needs }) =>
      title === undefined || (needs !== undefined && !may(needs))
        ? []
        : [{ kind: "view", name: title, href: path }],
    ),
    ...(agents.data?.agents ?? []).map(({ name }) => targetOf("agent", name, "/agents")),
    ...(servers.data?.servers ?? []).map(({ id }) => targetOf("server", id, "/servers")),
    ...(skills.data?.skills ?? []).map(({ name }) => targetOf("skill", name, "/skills")),
    ...(tools.data?.tools ?? []).map(({ name }) => targetOf("tool", name, "/tools")),
    ...(runs.data?.runs ?? []).map(({ runId, agent, status }) =>
      targetOf("run", `${agent} ${shortRunId(runId)} ${status}`, "/runs", runId),
    ),
  ];
}

function targetOf(kind: string, name: string, path: string, id = name): Target {
  return { kind, name, href: `${path}/${encodeURIComponent(id)}` };
}
