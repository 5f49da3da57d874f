import type { AgentSummary, Session, SkillSummary } from "@switchyard/client/operations";
import { cutText } from "@switchyard/contracts/cut-text";
import { namingLines, readTypedLine, SESSION_COMMANDS } from "@switchyard/contracts/typed-line";
import { useState } from "preact/hooks";
import { numberText } from "../core/format.ts";
import { act, useResource } from "../core/resource.ts";
import { navigate } from "../core/router.ts";
import { client, may } from "../core/session.ts";
import { toast } from "../core/toasts.ts";

interface Names {
  readonly skills: readonly SkillSummary[];
  readonly agents: readonly AgentSummary[];
}

interface Props {
  readonly sessionKey: string;
  /** Null before the first message. */
  readonly session: Session | null;
  readonly onSaid: (text: string, runId: string) => void;
}

const MOST_FILE_CHARACTERS = 20_000;

/** The input for a message. A line that begins with a slash has the same meaning as in `yard chat`. */
export function MessageComposer({ sessionKey, session, onSaid }: Props) {
  const names = useNames();
  const [text, setText] = useState("");
  const [picked, setPicked] = useState<string | null>(null);
  const agent = picked ?? firstAgent(names);
  const say = async (message: string, skill?: string): Promise<void> => {
    const key = sessionKey === "" ? `chat-${crypto.randomUUID().slice(0, 8)}` : sessionKey;
    const body = {
      message,
      ...(skill !== undefined && { skill }),
      ...(session === null && agent !== "" && { agent }),
    };
    const isDone = await act("", async () => {
      const reply = await client.request("POST /sessions/{session}/messages", {
        path: { session: key },
        body,
        idempotencyKey: crypto.randomUUID(),
      });
      onSaid(text.trim(), reply.runId);
    });
    if (!isDone) return;
    setText("");
    if (sessionKey === "") navigate(`/chat/${key}`);
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
        return say(typed.text);
      case "skill":
        // A message has at least one character; blanks are not an argument.
        return say(typed.arguments === "" ? " " : typed.arguments, typed.skill);
      case "agent":
        if (session !== null) return change(`${typed.agent} answers`, { agent: typed.agent });
        setPicked(typed.agent);
        return setText("");
      case "skill-switch": {
        if (session === null) return refuse("Say something first: a skill is off in a session.");
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
    if (text.trim() !== "") void take(text.trim());
  };
  const attach = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    const whole = await file.text();
    const content = cutText(whole, MOST_FILE_CHARACTERS);
    if (content.length < whole.length)
      refuse(`Of ${file.name} the first ${numberText(MOST_FILE_CHARACTERS)} characters are here.`);
    setText(`${text}\n\n${file.name}:\n\`\`\`\n${content}\n\`\`\`\n`);
  };
  return (
    <form class="say" onSubmit={submit} data-testid="say">
      {session === null && (
        <AgentField agents={names.agents} agent={agent} onPick={(name) => setPicked(name)} />
      )}
      <label class="field">
        <span class="visually-hidden">Message</span>
        <textarea
          rows={3}
          value={text}
          placeholder="Message, or / for skills, agents and more. Ctrl-Enter sends."
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || (!event.ctrlKey && !event.metaKey)) return;
            event.currentTarget.form?.requestSubmit();
          }}
        />
      </label>
      {text.startsWith("/") && !text.startsWith("//") && (
        <SlashLines text={text} names={names} off={session?.skillsOff ?? []} onPick={setText} />
      )}
      <div class="actions end">
        <label class="button">
          Attach a text file
          <input
            class="visually-hidden"
            type="file"
            onChange={(event) => void attach(event.currentTarget.files?.[0])}
          />
        </label>
        <button class="button primary">Send</button>
      </div>
    </form>
  );
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

interface SlashLine {
  /** The text of the field when it is picked. */
  readonly line: string;
  readonly shown: string;
  readonly meaning: string;
}

const MOST_LINES = 12;

/** Completions of the typed text, each with its effect. */
function SlashLines(props: {
  text: string;
  names: Names;
  off: readonly string[];
  onPick: (text: string) => void;
}) {
  const { text, names, off, onPick } = props;
  const found = linesFor(text, names, off);
  if (found.length === 0) return null;
  return (
    <ul class="lines slash-lines" aria-label="What the line may be" data-testid="slash-names">
      {found.slice(0, MOST_LINES).map(({ line, shown, meaning }) => (
        <li key={shown}>
          <button type="button" class="button small" onClick={() => onPick(`${line} `)}>
            {shown}
          </button>
          <span class="quiet text">{meaning}</span>
        </li>
      ))}
    </ul>
  );
}

/** One word: skills and commands. More of them: whatever can be named after the first. */
function linesFor(text: string, names: Names, off: readonly string[]): readonly SlashLine[] {
  const isWord = !/\s/.test(text);
  const naming = namingLines(names, off)
    .filter((line) => line.startsWith(text) && isWord === !line.includes(" "))
    .map((line) => slashLineOf(line, names));
  if (!isWord) {
    const used = names.skills.find(({ name }) => text.startsWith(`/${name} `));
    return used === undefined ? naming : [slashLineOf(`/${used.name}`, names)];
  }
  const commands = SESSION_COMMANDS.map(([usage, meaning]) => ({
    line: usage.split(" ", 1)[0] ?? "",
    shown: usage,
    meaning,
  })).filter(({ line }) => line.startsWith(text) && /^\/\w+$/.test(line));
  return [...naming, ...commands];
}

/** A line that names a skill or an agent, with its arguments, and what that is. */
function slashLineOf(line: string, { skills, agents }: Names): SlashLine {
  const name = line.slice(Math.max(line.lastIndexOf(" "), 0) + 1);
  const isAgent = line.startsWith("/agent ");
  const skill = isAgent ? undefined : skills.find((one) => one.name === name);
  const found = isAgent ? agents.find((one) => one.name === name) : skill;
  const hint = skill?.argumentHint ?? null;
  return {
    line,
    shown: hint === null || /^\/skills? o/.test(line) ? line : `${line} ${hint}`,
    meaning: found?.description ?? "",
  };
}

function refuse(text: string): void {
  toast({ text, tone: "bad" });
}
