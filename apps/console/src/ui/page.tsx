import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { CopyButton } from "./copy.tsx";

interface PageProps {
  readonly title: string;
  /** Describes the page in a line. */
  readonly about: ComponentChildren;
  /** The equivalent at a terminal and over NATS. */
  readonly cli?: string;
  readonly nats?: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A view: its heading gets the focus when the person navigates to it. */
export function Page({ title, about, cli, nats, actions, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.querySelector("main")?.scrollTo(0, 0);
    heading.current?.focus({ preventScroll: true });
  }, []);
  useEffect(() => setTitle(title), [title]);
  return (
    <div class="page" data-testid="page">
      <header class="page-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          <p class="about">{about}</p>
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
      {(cli !== undefined || nats !== undefined) && (
        <footer class="elsewhere" aria-label="The same elsewhere">
          {cli !== undefined && <Elsewhere where="Terminal" text={cli} />}
          {nats !== undefined && <Elsewhere where="NATS" text={nats} />}
        </footer>
      )}
    </div>
  );
}

function Elsewhere({ where, text }: { where: string; text: string }) {
  return (
    <p>
      <span class="label">{where}</span>
      <code>{text}</code>
      <CopyButton text={text} />
    </p>
  );
}

let waiting = 0;
let shown = "";

/** The tab's title, with the number of waiting approvals. */
function setTitle(title: string): void {
  shown = title;
  document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${shown} · Switchyard`;
}

export function setWaiting(count: number): void {
  waiting = count;
  setTitle(shown);
}
