import { useEffect, useState } from "preact/hooks";
import { count, shortRunId } from "../core/format.ts";
import { onLive } from "../core/live.ts";
import { client, session } from "../core/session.ts";
import { Time } from "../ui/time.tsx";

/** The list shows these fields of an event `rejected`. */
interface Rejected {
  readonly runId: string;
  readonly code: string;
  readonly message: string;
  readonly problems: readonly string[];
  readonly at: string;
}

const DAY_MS = 86_400_000;
const MOST = 50;

/** The run commands of the last day that became no run, with their reasons; nothing when there is none. */
export function RejectedRuns() {
  const rejected = useRejected();
  if (rejected.length === 0) return null;
  return (
    <details class="note bad" data-testid="rejected-runs">
      <summary>{count(rejected.length, "command")} of the last day became no run</summary>
      <ul>
        {rejected.map(({ runId, code, message, problems, at }) => (
          <li key={`${runId} ${at}`}>
            <Time at={at} /> <a href={`/runs/${encodeURIComponent(runId)}`}>{shortRunId(runId)}</a>{" "}
            <code>{code}</code> {message}
            {problems.length > 0 && `: ${problems.join("; ")}`}
          </li>
        ))}
      </ul>
    </details>
  );
}

function useRejected(): readonly Rejected[] {
  const [rejected, setRejected] = useState<readonly Rejected[]>([]);
  const { value } = session;
  const mayFollow = value.phase === "signed-in" && value.me.may.includes("GET /events");
  useEffect(() => {
    if (!mayFollow) return undefined;
    const stop = new AbortController();
    const read = async (): Promise<void> => {
      const found: Rejected[] = [];
      const options = { stopAtEnd: true, signal: stop.signal };
      for await (const { data } of client.followEvents({ noun: "run", event: "rejected" }, options))
        found.push(data as Rejected); // the contract of this event
      const since = Date.now() - DAY_MS;
      const recent = found.toReversed().filter(({ at }) => Date.parse(at) > since);
      if (!stop.signal.aborted) setRejected(recent.filter((_, index) => index < MOST));
    };
    void read().catch(() => {}); // the list of runs reports a gateway that does not answer
    const end = onLive((topic, message) => {
      if (topic !== "run" || message?.event !== "rejected") return;
      const { data } = message as { readonly data: Rejected }; // the contract of this event
      const isOther = ({ runId, at }: Rejected): boolean => runId !== data.runId || at !== data.at;
      setRejected((old) => [data, ...old.filter(isOther)].filter((_one, index) => index < MOST));
    });
    return () => {
      stop.abort();
      end();
    };
  }, [mayFollow]);
  return rejected;
}
