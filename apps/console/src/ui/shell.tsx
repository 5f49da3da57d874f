import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { liveState } from "../core/live.ts";
import { useLoadedNeeds } from "../core/needs.ts";
import { numberText } from "../core/format.ts";
import { notifyOf } from "../core/notes-of-needs.ts";
import { useResource } from "../core/resource.ts";
import { address } from "../core/router.ts";
import { callerName, may, session, signOut } from "../core/session.ts";
import { nextTheme, theme } from "../core/theme.ts";
import { views, type View } from "../routes.ts";
import { setWaiting } from "./page.tsx";
import { Icon } from "./icon.tsx";
import { openPalette, PaletteHost } from "./palette.tsx";
import { said } from "./statuses.ts";
import { StopControl } from "./stop-control.tsx";
import { StopsBanner } from "./stops-banner.tsx";

const GROUPS = { work: "Operate", build: "Build", govern: "Govern" } as const;
const LIVE = {
  live: { word: "Live", tone: "good" },
  connecting: { word: "Connecting", tone: "busy" },
  waiting: { word: "Reconnecting", tone: "wait" },
} as const;

/** Navigation, the signed-in person, and the view. */
export function Shell({ children }: { children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  const { pathname } = address.value;
  useEffect(() => setOpen(false), [pathname]);
  const { approvals, others, count: waiting, isLoaded } = useLoadedNeeds();
  useEffect(() => setWaiting(waiting), [waiting]);
  useEffect(() => {
    if (isLoaded) notifyOf(approvals, others);
  }, [approvals, others, isLoaded]);
  const first = approvals[0]?.id ?? others[0]?.id ?? "";
  const hidden = useHidden();
  return (
    <div class={`shell ${isOpen ? "open" : ""}`}>
      <a class="skip" href="#main">
        To the content
      </a>
      <header class="bar">
        <button
          type="button"
          class="button menu"
          aria-expanded={isOpen}
          aria-controls="navigation"
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name="menu" /> <span class="word">Menu</span>
        </button>
        <a class="brand" href="/">
          <img src="/icon.svg" alt="" width={24} height={24} />
          <span class="word">Switchyard</span>
        </a>
        <NeedsLink count={waiting} first={first} />
        <button
          type="button"
          class="button search"
          onClick={openPalette}
          data-testid="open-palette"
        >
          <Icon name="search" /> <span class="word">Go to…</span> <kbd>Ctrl K</kbd>
        </button>
        <StopControl />
      </header>
      <nav id="navigation" aria-label="Views">
        {Object.entries(GROUPS).map(([group, title]) => (
          <NavGroup key={group} title={title} group={group} waiting={waiting} hidden={hidden} />
        ))}
        <Person />
      </nav>
      <main id="main" tabIndex={-1}>
        <StopsBanner />
        {children}
      </main>
      <PaletteHost />
    </div>
  );
}

/** The number of things that need the person, announced when it changes; the link opens the first one. */
function NeedsLink({ count, first }: { count: number; first: string }) {
  if (!may("GET /approvals")) return null;
  const words = count === 1 ? "1 thing needs you" : `${numberText(count)} things need you`;
  return (
    <>
      <p class="visually-hidden" role="status" data-testid="announced">
        {count === 0 ? "" : words}
      </p>
      {count > 0 && (
        <a
          class="button needs"
          href={`/approvals?id=${encodeURIComponent(first)}`}
          data-testid="needs-you"
        >
          <Icon name="needs" /> <span class="word">Needs you</span>{" "}
          <span class="badge">{numberText(count)}</span>
        </a>
      )}
    </>
  );
}

/** Views of optional services, when they are not installed. */
function useHidden(): readonly string[] {
  const [status, accounts] = ["GET /schedules/status", "GET /channels/accounts"] as const;
  const schedules = useResource(status, may(status) ? {} : null);
  const channels = useResource(accounts, may(accounts) ? {} : null);
  const answers = { "/schedules": schedules, "/channels": channels };
  return Object.entries(answers).flatMap(([path, { problem }]) =>
    problem?.code === "no_responders" ? [path] : [],
  );
}

function NavGroup(props: {
  title: string;
  group: string;
  waiting: number;
  hidden: readonly string[];
}) {
  const { title, group, waiting, hidden } = props;
  const shown = views
    .filter(({ path }) => !hidden.includes(path))
    .filter((view) => view.group === group && (view.needs === undefined || may(view.needs)));
  if (shown.length === 0) return null;
  return (
    <section>
      <h2>{title}</h2>
      <ul>
        {shown.map((view) => (
          <li key={view.path}>
            <a href={view.path} aria-current={isCurrent(view) ? "page" : undefined}>
              <span class="nav-name">
                {view.icon !== undefined && <Icon name={view.icon} />}
                {view.title}
              </span>
              {view.path === "/approvals" && waiting > 0 && (
                <span class="badge" data-testid="waiting-count">
                  {waiting}
                  <span class="visually-hidden"> waiting</span>
                </span>
              )}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function isCurrent({ path }: View): boolean {
  const { pathname } = address.value;
  return path === "/" ? pathname === "/" : pathname === path || pathname.startsWith(`${path}/`);
}

function Person() {
  const state = session.value;
  const { word, tone } = LIVE[liveState.value];
  return (
    <section class="person">
      <p>
        <span
          class={`status ${tone}`}
          data-testid="live"
          data-status={said("live", liveState.value)}
        >
          <span class="mark" aria-hidden="true">
            ●
          </span>
          {word}
        </span>
      </p>
      <p>
        <strong>{callerName()}</strong>
        <br />
        <span class="quiet">{state.phase === "signed-in" ? state.me.roles.join(", ") : ""}</span>
      </p>
      <div class="actions">
        <button type="button" class="button small" onClick={nextTheme} data-testid="theme">
          Theme: {theme.value}
        </button>
        <button type="button" class="button small" onClick={() => void signOut()}>
          Sign out
        </button>
      </div>
    </section>
  );
}
