import { signal } from "@preact/signals";
import type { Reply } from "@switchyard/client/client";
import type { Approval, RunSummary, ServerInfo, ToolPin } from "@switchyard/client/operations";
import { useEffect, useMemo, useState } from "preact/hooks";
import { onLive } from "./live.ts";
import { useResource } from "./resource.ts";
import { client, may } from "./session.ts";

type Question = Reply<"GET /runs/questions">["questions"][number];
type ServerQuestion = Reply<"GET /mcp/questions">["questions"][number];
type Dead = Reply<"GET /runs/dead">;
type Withheld = Reply<"GET /skills/withheld">["withheld"][number];

/** One thing beside calls that only a person can move on; the id is its part of the address. */
export type Need = { readonly id: string } & (
  | { readonly kind: "question"; readonly question: Question }
  | { readonly kind: "elicitation"; readonly question: ServerQuestion }
  | { readonly kind: "limit"; readonly run: RunSummary }
  | { readonly kind: "pins"; readonly server: ServerInfo; readonly pins: readonly ToolPin[] }
  | { readonly kind: "withheld"; readonly withheld: Withheld }
  | { readonly kind: "dead"; readonly run: Dead["runs"][number] }
  | { readonly kind: "letter"; readonly letter: NonNullable<Dead["letters"]>[number] }
);

interface Needs {
  /** Calls that wait for this person's decision. */
  readonly approvals: readonly Approval[];
  readonly others: readonly Need[];
  /** The number of all of them. */
  readonly count: number;
  /** False until everything has been loaded once. */
  readonly isLoaded: boolean;
}

/** Everything that needs the person, for the bar, the tab's title and the inbox. */
export const needs = signal<Needs>({ approvals: [], others: [], count: 0, isLoaded: false });

const LISTED = { limit: 50 };
/** Limits reached by runs are found in the newest waiting ones. */
const WAITING = { status: "waiting", limit: 100 } as const;
const MOST_SERVERS = 50;
/** Events of a run after which other questions, limits or dead runs may be listed. */
const CHANGES = ["waiting", "woken", "question", "dead", "retried", "limits", "cancelled", "ended"];
const AT_MOST_EVERY_MS = 1_000;

/** Loads what needs the person, once for the whole page, and reloads what an event may have changed. */
export function useLoadedNeeds(): Needs {
  const approvals = useIfMay("GET /approvals", {}, ["approval"]);
  const questions = useIfMay("GET /runs/questions", { query: LISTED });
  const elicitations = useIfMay("GET /mcp/questions", {}, ["other"]);
  const limits = useIfMay("GET /runs", { query: WAITING });
  const dead = useIfMay("GET /runs/dead", { query: LISTED });
  const withheld = useIfMay("GET /skills/withheld", {}, ["other"]);
  const pins = useChangedPins();
  const lists = [approvals, questions, elicitations, limits, dead, withheld];
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let reloadedAt = 0;
    const stop = onLive((topic, message) => {
      const isChange = CHANGES.some((word) => message?.event.startsWith(word));
      if (message !== null && (topic !== "run" || !isChange)) return;
      timer ??= setTimeout(
        () => {
          timer = undefined;
          reloadedAt = Date.now();
          for (const list of [questions, limits, dead]) list.reload();
        },
        Math.max(0, reloadedAt + AT_MOST_EVERY_MS - Date.now()),
      );
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, []);
  const isLoaded =
    pins !== null && lists.every(({ data, isLoading }) => data !== null || !isLoading);
  const loaded = useMemo((): Needs => {
    const others: Need[] = [
      ...(questions.data?.questions ?? []).map(questionNeed),
      ...(elicitations.data?.questions ?? []).map((question): Need => ({
        kind: "elicitation",
        id: `elicitation:${question.id}`,
        question,
      })),
      ...(limits.data?.runs ?? [])
        .filter(({ waitsFor }) => waitsFor?.includes("limit"))
        .map((run): Need => ({ kind: "limit", id: `limit:${run.runId}`, run })),
      ...(dead.data?.runs ?? []).map((run): Need => ({
        kind: "dead",
        id: `dead:${run.runId}`,
        run,
      })),
      ...(dead.data?.letters ?? []).map((letter): Need => ({
        kind: "letter",
        id: `letter:${letter.id ?? letter.runId}`,
        letter,
      })),
      ...(pins ?? []),
      ...(withheld.data?.withheld ?? []).map((one): Need => ({
        kind: "withheld",
        id: `withheld:${one.kind}/${one.name}`,
        withheld: one,
      })),
    ];
    const count = (approvals.data?.pending ?? 0) + others.length;
    return {
      approvals: approvals.data?.approvals ?? [],
      others,
      count,
      isLoaded,
    };
  }, [
    approvals.data,
    questions.data,
    elicitations.data,
    limits.data,
    dead.data,
    withheld.data,
    pins,
    isLoaded,
  ]);
  useEffect(() => void (needs.value = loaded), [loaded]);
  return loaded;
}

function questionNeed(question: Question): Need {
  return { kind: "question", id: `question:${question.callId}`, question };
}

const useIfMay: typeof useResource = (operation, request, topics) =>
  useResource(operation, may(operation) ? request : null, topics);

/** Servers with tools whose definition is new or has changed, so that no call of them is made; null before they are loaded. */
function useChangedPins(): readonly Need[] | null {
  const mayApprove = may("POST /mcp/servers/{id}/pins/approve");
  const servers = useResource("GET /mcp/servers", mayApprove ? {} : null, ["server"]);
  const [changed, setChanged] = useState<readonly Need[] | null>(null);
  useEffect(() => {
    if (servers.isLoading && servers.data === null) return undefined;
    const stop = new AbortController();
    const load = async (): Promise<void> => {
      const found = await heldBack(servers.data?.servers.slice(0, MOST_SERVERS) ?? [], stop);
      if (!stop.signal.aborted) setChanged(found);
    };
    void load();
    return () => stop.abort();
  }, [servers.data, servers.problem]);
  return changed;
}

async function heldBack(
  servers: readonly ServerInfo[],
  { signal: ending }: AbortController,
): Promise<Need[]> {
  const found: Need[] = [];
  for (const server of servers) {
    const query = { states: ["pending", "changed"] as ToolPin["state"][] }; // mutable, as the client's type has it
    const request = { path: { id: server.id }, query };
    const listed = await client
      .request("GET /mcp/servers/{id}/pins", request, { signal: ending })
      .catch(() => null);
    if (listed !== null && listed.pins.length > 0)
      found.push({ kind: "pins", id: `pins:${server.id}`, server, pins: listed.pins });
  }
  return found;
}
