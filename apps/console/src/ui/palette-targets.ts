import type { Operation, Request } from "@switchyard/client/client";
import { runText } from "../core/names.ts";
import { useResource } from "../core/resource.ts";
import { may } from "../core/session.ts";
import { views } from "../routes.ts";
import { mayStop, openStop } from "./stop-control.tsx";

/** A named target with its path. */
export interface Target {
  readonly kind: string;
  readonly name: string;
  readonly href: string;
  /** A text that finds it, too, and is not shown, such as an id. */
  readonly also?: string;
  /** An action in place of a way to a page. */
  readonly run?: () => void;
}

const A_RUN = /^(?:[a-z0-9][a-z0-9-]{0,31}~)?[A-Za-z0-9][A-Za-z0-9_-]{5,63}$/;

/** Everything that the person may see, the views first; the typed text may also be the id of a run that is not among the latest. */
export function useTargets(typed: string): readonly Target[] {
  const runs = useIfMay("GET /runs", { query: { limit: 100 } });
  const approvals = useIfMay("GET /approvals", { query: { pendingOnly: true, limit: 100 } });
  const sessions = useIfMay("GET /sessions", { query: { limit: 100 } });
  const agents = useIfMay("GET /agents", {});
  const tools = useIfMay("GET /tools", {});
  const builtins = useIfMay("GET /tools/builtin", {});
  const skills = useIfMay("GET /skills", {});
  const servers = useIfMay("GET /mcp/servers", {});
  const rules = useIfMay("GET /policy/rules", {});
  const jobs = useIfMay("GET /schedules", { query: { enabled: "all", all: true, limit: 200 } });
  const accounts = useIfMay("GET /channels/accounts", {});
  const webhooks = useIfMay("GET /webhooks", {});
  const word = typed.trim();
  const latest = runs.data?.runs ?? [];
  return [
    ...(mayStop() ? [{ kind: "action", name: "Stop calls…", href: "", run: openStop }] : []),
    ...views.flatMap(({ title, path, needs }) =>
      title === undefined || (needs !== undefined && !may(needs))
        ? []
        : [{ kind: "view", name: title, href: path }],
    ),
    ...(approvals.data?.approvals ?? []).map(({ id, tool, principal }) => ({
      kind: "approval",
      name: `${tool.name} for ${principal.agent ?? principal.user}`,
      href: `/approvals?id=${id}`,
    })),
    ...(agents.data?.agents ?? []).map(({ name }) => targetOf("agent", name, "/agents")),
    ...(servers.data?.servers ?? []).map(({ id }) => targetOf("server", id, "/servers")),
    ...(skills.data?.skills ?? []).map(({ name }) => targetOf("skill", name, "/skills")),
    ...[...(tools.data?.tools ?? []), ...(builtins.data?.tools ?? [])].map(({ name }) =>
      targetOf("tool", name, "/tools"),
    ),
    ...(rules.data?.rules ?? []).map(({ id }) => ({
      kind: "rule",
      name: id,
      href: `/policy?view=rules&q=${encodeURIComponent(id)}`,
    })),
    ...(jobs.data?.jobs ?? []).map(({ id, name }) => targetOf("job", name, "/schedules", id)),
    ...(accounts.data?.accounts ?? []).map(({ channel, accountId }) => ({
      kind: "account",
      name: `${channel}/${accountId}`,
      href: `/channels/${channel}/${accountId}`,
    })),
    ...(webhooks.data?.webhooks ?? []).map(({ id, url }) =>
      targetOf("webhook", url, "/webhooks", id),
    ),
    ...(sessions.data?.sessions ?? []).map(({ key, label }) =>
      targetOf("chat", label ?? key, "/chat", key),
    ),
    ...latest.map((run) =>
      Object.assign(targetOf("run", `${runText(run)} ${run.status}`, "/runs", run.runId), {
        also: run.runId,
      }),
    ),
    ...(runs.data !== null && A_RUN.test(word) && !latest.some(({ runId }) => runId.includes(word))
      ? [targetOf("run", word, "/runs")]
      : []),
  ];
}

function useIfMay<Op extends Operation>(operation: Op, request: Request<Op>) {
  return useResource(operation, may(operation) ? request : null);
}

function targetOf(kind: string, name: string, path: string, id = name): Target {
  return { kind, name, href: `${path}/${encodeURIComponent(id)}` };
}
