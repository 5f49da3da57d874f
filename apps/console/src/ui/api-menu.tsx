import { useRef } from "preact/hooks";
import { address } from "../core/router.ts";
import { CopyButton } from "./copy.tsx";

/** The operation behind each view, by the first part of its path. */
const OPERATIONS: Readonly<Record<string, string>> = {
  "": "/runs/totals",
  agents: "/agents",
  approvals: "/approvals",
  audit: "/audit",
  channels: "/channels/accounts",
  chat: "/sessions",
  policy: "/policy/rules",
  runs: "/runs",
  schedules: "/schedules",
  servers: "/mcp/servers",
  skills: "/skills",
  system: "/system",
  tools: "/tools",
  webhooks: "/webhooks",
};
/** Views whose second part names one object of the operation. */
const WITH_NAME = new Set(["agents", "chat", "runs", "schedules", "servers", "skills", "webhooks"]);

/** The same at a terminal, over HTTP and over NATS, behind one button. */
export function ApiMenu({ cli, nats }: { cli: string | undefined; nats: string | undefined }) {
  const menu = useRef<HTMLDetailsElement>(null);
  const curl = curlOf(address.value);
  const ways = Object.entries({ Terminal: cli, curl, NATS: nats });
  const close = (): void => void (menu.current !== null && (menu.current.open = false));
  return (
    <details
      ref={menu}
      class="copy-menu api-menu"
      data-testid="api"
      onKeyDown={(event) => event.key === "Escape" && close()}
    >
      <summary class="button">API</summary>
      <ul aria-label="The same elsewhere">
        {ways.map(
          ([way, text]) =>
            text !== undefined && (
              <li key={way}>
                <span class="label">{way}</span>
                <code>{text}</code>
                <CopyButton text={text} />
              </li>
            ),
        )}
      </ul>
    </details>
  );
}

/** The request that lists or reads what the view shows; undefined for a view that has none. */
function curlOf({ origin, pathname }: URL): string | undefined {
  const [, view = "", name = ""] = pathname.split("/");
  const base = OPERATIONS[view];
  if (base === undefined) return undefined;
  const path = name !== "" && WITH_NAME.has(view) ? `${base}/${name}` : base;
  return `curl -H "Authorization: Bearer $YARD_HTTP_TOKEN" '${origin}/api/v1${path}'`;
}
