import type { AgentSummary, Session } from "@switchyard/client/operations";
import { readTypedLine } from "@switchyard/contracts/typed-line";
import { useEffect, useRef, useState } from "preact/hooks";
import { isNarrow } from "../core/narrow.ts";
import { act, useResource } from "../core/resource.ts";
import { navigate } from "../core/router.ts";
import { callerName, client, may } from "../core/session.ts";
import { toast } from "../core/toasts.ts";
import { AttachedFiles, useAttachedFiles, type AttachedFile } from "./attached-files.tsx";
import { acceptSent, addSent, draftOf, dropSent, keepDraft } from "./sent-messages.ts";
import { SlashLines, type Names } from "./slash-lines.tsx";

interface Props {
  readonly sessionKey: string;
  /** Null before the first message. */
  readonly session: Session | null;
  readonly onSent: () => void;
}

interface Message {
  readonly text: string;
  readonly files: readonly AttachedFile[];
}

/** The input for a message. A line that begins with a slash has the same meaning as in `yard chat`. */
export function MessageComposer({ sessionKey, session, onSent }: Props) {
  const names = useNames();
  const draftKey = `${callerName()} ${sessionKey}`;
  const [text, setShownText] = useState(() => draftOf(draftKey));
  const { files, setFiles, attach } = useAttachedFiles();
  const [picked, setPicked] = useState<string | null>(null);
  /** The conversation that this page began: the agent's field goes with its first message, so that nothing moves while the answer comes. */
  const [begun, setBegun] = useState<string | null>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (!isNarrow.value) field.current?.focus({ preventScroll: true });
  }, []);
  const agent = picked ?? firstAgent(names);
  const isStoring = files.some(({ part }) => part === null);
  const setText = (next: string): void => {
    setShownText(next);
    keepDraft(draftKey, next);
  };
  const complete = (line: string): void => {
    setText(line);
    field.current?.focus();
  };
  const send = async (message: string, skill?: string): Promise<void> => {
    const written: Message = { text, files };
    setText("");
    setFiles([]);
    setBegun(sessionKey);
    const isSent = await sendMessage({
      sessionKey,
      agent: session === null ? agent : "",
      written,
      message,
      skill,
      onSent,
    });
    if (isSent) return;
    setBegun(null);
    // Nothing that the person wrote is lost, not even what was written since.
    setShownText((since) => (since === "" ? written.text : `${written.text}\n${since}`));
    setFiles((since) => [...written.files, ...since]);
  };
  const change = async (done: string, body: object): Promise<void> => {
    const isDone = await act(done, () =>
      client.request("PATCH /sessions/{session}", { path: { session: sessionKey }, body }),
    );
    if (isDone) setText("");
  };
  const take = async (line: string): Promise<void> => {
    const typed = readTypedLine(line, names);
    switch (typed.kind) {
      case "text":
        return send(typed.text);
      case "skill":
        // A message has at least one character; blanks are not an argument.
        return send(typed.arguments === "" ? " " : typed.arguments, typed.skill);
      case "agent":
        if (session !== null) return change(`${typed.agent} answers`, { agent: typed.agent });
        setPicked(typed.agent);
        return setText("");
      case "skill-switch": {
        if (session === null)
          return refuse("Send a message first: a skill is off in a conversation.");
        const others = session.skillsOff.filter((name) => name !== typed.skill);
        const skillsOff = typed.isOn ? others : [...others, typed.skill];
        return change(`${typed.skill} is ${typed.isOn ? "on" : "off"}`, { skillsOff });
      }
      case "agents":
        return navigate("/agents");
      case "skills":
        return navigate(
          typed.skill === null ? "/skills" : `/skills/${encodeURIComponent(typed.skill)}`,
        );
      case "help":
        return setText("/");
      case "other":
        return refuse(
          `/${typed.command} is for a terminal: here a button or another view does it.`,
        );
      default:
        return refuse(typed.message);
    }
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (isStoring) return;
    if (text.trim() !== "") void take(text.trim());
    else if (files.length > 0) void send("");
  };
  const mayAttach = may("POST /files");
  /** Files that were pasted or dropped are attached; texts are left to the browser. */
  const receive = (event: Event, dropped: DataTransfer | null): void => {
    if (!mayAttach || dropped === null || dropped.files.length === 0) return;
    event.preventDefault();
    void attach(dropped.files);
  };
  return (
    <form
      class="say"
      onSubmit={submit}
      data-testid="say"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => receive(event, event.dataTransfer)}
    >
      {session === null && begun !== sessionKey && (
        <AgentField agents={names.agents} agent={agent} onPick={(name) => setPicked(name)} />
      )}
      <label class="field">
        <span class="visually-hidden">Message</span>
        <textarea
          ref={field}
          rows={2}
          value={text}
          placeholder="Message, or / for skills and agents"
          aria-describedby="say-keys"
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (!isSendKey(event)) return;
            event.preventDefault();
            event.currentTarget.form?.requestSubmit();
          }}
          onPaste={(event) => receive(event, event.clipboardData)}
        />
      </label>
      {text.startsWith("/") && !text.startsWith("//") && (
        <SlashLines text={text} names={names} off={session?.skillsOff ?? []} onPick={complete} />
      )}
      <AttachedFiles files={files} onChange={setFiles} />
      <SendRow isStoring={isStoring} {...(mayAttach && { onAttach: attach })} />
    </form>
  );
}

/** Buttons that attach files and send. */
function SendRow(props: {
  isStoring: boolean;
  onAttach?: (files: Iterable<File>) => Promise<void>;
}) {
  const { isStoring, onAttach } = props;
  return (
    <div class="actions">
      {onAttach !== undefined && (
        <label class="button small">
          Attach files
          <input
            class="visually-hidden"
            type="file"
            multiple
            onChange={({ currentTarget }) => {
              void onAttach(currentTarget.files ?? []);
              currentTarget.value = "";
            }}
          />
        </label>
      )}
      <span class="quiet send-keys" id="say-keys">
        {isTouch ? "" : "Enter sends, Shift+Enter begins a line"}
      </span>
      <button class="button primary" disabled={isStoring}>
        Send
      </button>
    </div>
  );
}

/** A keyboard on a screen has no Shift+Enter: there Enter begins a line. */
const isTouch = matchMedia("(pointer: coarse)").matches;

/** Enter also confirms a word that an input method composes; then it does not send. */
function isSendKey({ key, shiftKey, ctrlKey, metaKey, isComposing }: KeyboardEvent): boolean {
  if (key !== "Enter" || isComposing) return false;
  return ctrlKey || metaKey || (!shiftKey && !isTouch);
}

/** Sends the message, which is shown at once. True when the gateway has accepted it. */
async function sendMessage(options: {
  readonly sessionKey: string;
  /** Empty: the session's. */
  readonly agent: string;
  readonly written: Message;
  readonly message: string;
  readonly skill: string | undefined;
  readonly onSent: () => void;
}): Promise<boolean> {
  const { sessionKey, agent, written, message, skill, onSent } = options;
  const id = crypto.randomUUID();
  const parts = written.files.flatMap(({ part }) => part ?? []);
  addSent({ id, sessionKey, agent, text: written.text.trim(), files: written.files, runId: null });
  onSent();
  const isSent = await act("", async () => {
    const { runId, placed } = await client.request("POST /sessions/{session}/messages", {
      path: { session: sessionKey },
      body: {
        message,
        ...(parts.length > 0 && { files: parts }),
        ...(skill !== undefined && { skill }),
        ...(agent !== "" && { agent }),
      },
      idempotencyKey: id,
    });
    // The events of the run that received a message have it, too.
    if (placed === "steered") dropSent(id);
    else acceptSent(id, runId);
  });
  if (!isSent) dropSent(id);
  else if (location.pathname === "/chat") navigate(`/chat/${encodeURIComponent(sessionKey)}`);
  return isSent;
}

function AgentField(props: {
  agents: readonly AgentSummary[];
  agent: string;
  onPick: (name: string) => void;
}) {
  const { agents, agent, onPick } = props;
  return (
    <label class="field">
      <span>Agent</span>
      <select value={agent} required onChange={(event) => onPick(event.currentTarget.value)}>
        {agents.map(({ name }) => (
          <option key={name} value={name} selected={name === agent}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function useNames(): Names {
  const skills = useResource("GET /skills", may("GET /skills") ? {} : null);
  const agents = useResource("GET /agents", may("GET /agents") ? {} : null);
  return { skills: skills.data?.skills ?? [], agents: agents.data?.agents ?? [] };
}

function firstAgent({ agents }: Names): string {
  return (agents.find(({ name }) => name === "demo") ?? agents[0])?.name ?? "";
}

function refuse(text: string): void {
  toast({ text, tone: "bad" });
}
