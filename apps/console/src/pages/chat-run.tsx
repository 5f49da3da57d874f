import { filesOf, inputText } from "@switchyard/contracts/agent-runner/input-text";
import type { RunDetail, RunWait } from "@switchyard/client/operations";
import { prettyJson } from "../core/format.ts";
import { useResource } from "../core/resource.ts";
import { callerName, may } from "../core/session.ts";
import { TurnCard } from "../run/conversation.tsx";
import { useStory } from "../run/use-story.ts";
import { waitsOf, WaitPart } from "../run/run-waits.tsx";
import { Snippet } from "../ui/copy.tsx";
import { Loading } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { said } from "../ui/statuses.ts";
import { Decide } from "./approval-decision.tsx";
import { CallSentence, Diff } from "./approval-sentence.tsx";
import { FileChips, type AttachedFile } from "./attached-files.tsx";

interface Props {
  readonly runId: string;
  /** The name of the agent until the run itself is loaded. */
  readonly agent: string;
  /** The message as this tab sent it, if it did. */
  readonly sent: Asked | null;
}

export interface Asked {
  readonly text: string;
  readonly files: readonly (Pick<AttachedFile, "name" | "sizeBytes"> & {
    readonly preview?: string | null;
  })[];
}

/** The run that answers: the message, what the agent does about it, and what it waits for, decided and answered in place. */
export function ChatRun({ runId, agent, sent }: Props) {
  const story = useStory(runId);
  const detail = useResource("GET /runs/{runId}", { path: { runId } }, ["run"]);
  const run = detail.data?.run ?? null;
  const asked = sent ?? (run === null ? null : askedOf(run));
  return (
    <>
      {asked !== null && <PersonTurn by={run?.requester ?? callerName()} {...asked} />}
      {story.turns.map((turn) => (
        <TurnCard key={turn.id} turn={turn} name={run?.agent ?? agent} />
      ))}
      {run !== null &&
        waitsOf(run, story).map((wait) => <ChatWait key={wait.callId} run={run} wait={wait} />)}
      {story.rejection !== null && <p class="note bad text">{story.rejection.message}</p>}
      <p class="quiet chat-state">
        <Status is={story.status} /> <a href={`/runs/${encodeURIComponent(runId)}`}>Open the run</a>
      </p>
    </>
  );
}

/** A person's message. */
export function PersonTurn({ by, text, files }: Asked & { readonly by: string }) {
  return (
    <article class="turn person" data-testid="turn" data-status={said("turn", "user")}>
      <h3>{by === callerName() ? "You" : by}</h3>
      {text !== "" && <p class="text">{text}</p>}
      <FileChips files={files} />
    </article>
  );
}

function askedOf({ input }: RunDetail): Asked {
  const files = filesOf(input);
  const parts = Array.isArray(input) ? input.filter(({ type }) => type === "text") : input;
  return { text: inputText(parts, 2), files };
}

function ChatWait({ run, wait }: { run: RunDetail; wait: RunWait }) {
  const { reason, approvalId } = wait;
  const isDecidable = reason === "approval" && approvalId !== undefined;
  if (!isDecidable || !may("GET /approvals/{id}")) return <WaitPart run={run} wait={wait} />;
  return (
    <WaitPart run={run} wait={wait}>
      <WaitingCall id={approvalId} />
    </WaitPart>
  );
}

/** The call with its arguments and the decision about it. */
function WaitingCall({ id }: { id: string }) {
  const detail = useResource("GET /approvals/{id}", { path: { id } }, ["approval"]);
  if (detail.data === null)
    return detail.problem === null ? (
      <Loading />
    ) : (
      <p>
        {detail.problem.detail} <a href={`/approvals?id=${id}`}>Look at the call</a>
      </p>
    );
  const { approval, presentation } = detail.data;
  return (
    <div class="side" data-testid="chat-approval">
      <CallSentence approval={approval} presentation={presentation} />
      <p>{approval.why}</p>
      <Diff presentation={presentation} />
      <Snippet label="Arguments" text={prettyJson(presentation.args)} />
      {presentation.isCut && (
        <p class="note bad">
          This is not all of them: who approves, approves what is not shown, too.
        </p>
      )}
      {approval.state === "pending" ? (
        <Decide
          key={approval.votes.length}
          {...{ approval, presentation }}
          onDecidedByKey={() => {}}
        />
      ) : (
        <p>{approval.state}</p>
      )}
      <a href={`/approvals?id=${id}`}>More about the call</a>
    </div>
  );
}
