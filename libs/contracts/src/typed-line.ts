import { nearestName } from "./nearest-name.ts";

/** Commands that a conversation at a terminal answers itself; a skill of such a name is not reached by it. */
export const BUILT_IN_COMMANDS = [
  "agent",
  "agents",
  "clear",
  "config",
  "exit",
  "help",
  "memory",
  "model",
  "quit",
  "session",
  "skill",
  "skills",
  "tools",
  "use",
  "workspace",
] as const;
type BuiltInCommand = (typeof BUILT_IN_COMMANDS)[number];

/** Commands of every conversation, at a terminal or in the console, each with its description. */
export const SESSION_COMMANDS: readonly (readonly [usage: string, meaning: string])[] = [
  ["/help [command]", "this list, or one line of it"],
  ["/skills [name]", "the skills, or one with its text"],
  ["/<skill> [arguments]", "use a skill"],
  ["/skill <name> [arguments]", "use a skill, also one that is called as a command is"],
  ["/skill off|on <name>", "do without a skill in this session, or have it again"],
  ["/agents", "the agents"],
  ["/agent <name>", "who answers from now on in this session"],
  ["//text", "a text that begins with a slash"],
];

/** The names that a line may contain. */
export interface KnownNames {
  readonly skills: readonly { readonly name: string; readonly userInvocable: boolean }[];
  readonly agents: readonly { readonly name: string }[];
}

/** The meaning of a line. */
export type TypedLine =
  /** A message to the agent. */
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "help"; readonly topic: string | null }
  /** Lists the skills, or shows one of them. */
  | { readonly kind: "skills"; readonly skill: string | null }
  | { readonly kind: "agents" }
  /** Uses a skill with these arguments, which are the typed text, byte by byte. */
  | { readonly kind: "skill"; readonly skill: string; readonly arguments: string }
  /** Switches a skill off or on from now on. */
  | { readonly kind: "skill-switch"; readonly skill: string; readonly isOn: boolean }
  /** Selects the agent that answers from now on. */
  | { readonly kind: "agent"; readonly agent: string }
  /** A command whose meaning depends on where the line was typed. */
  | { readonly kind: "other"; readonly command: BuiltInCommand; readonly arguments: string }
  | {
      readonly kind: "unknown";
      readonly what: "command" | "skill" | "agent";
      readonly name: string;
      /** The probable correction, in the form that is typed. */
      readonly nearest: string | null;
      /** The message to the person. */
      readonly message: string;
    };

// A path such as /etc/hosts is not a command: a name ends where a space does or the line.
const COMMAND = /^\/([\p{L}\p{N}][\p{L}\p{N}_-]*)(?:\s([^]*))?$/u;

/**
 * Reads a line that a person typed. A built-in command goes before a skill of its name, which `/skill name` reaches. `//` at the start is
 * one slash of a text. The line is neither resolved nor executed here.
 */
export function readTypedLine(line: string, known: KnownNames): TypedLine {
  if (line.startsWith("//")) return { kind: "text", text: line.slice(1) };
  const [, typed, rest = ""] = COMMAND.exec(line) ?? [];
  if (typed === undefined) return { kind: "text", text: line };
  const command = BUILT_IN_COMMANDS.find((name) => name === typed.toLowerCase());
  if (command !== undefined) return builtIn(command, rest, known);
  const skill = named(forPeople(known), typed);
  if (skill !== null) return { kind: "skill", skill, arguments: rest };
  const names = [...BUILT_IN_COMMANDS, ...forPeople(known)];
  return unknown({ what: "command", name: typed, names, known });
}

/** The lines that name a skill or an agent, as completions; `skillsOff` may be switched on again. */
export function namingLines(known: KnownNames, skillsOff: readonly string[] = []): string[] {
  const own = forPeople(known);
  return [
    ...own.map((name) => `/${name}`),
    ...own.flatMap((name) => [`/skill ${name}`, `/use ${name}`, `/skills ${name}`]),
    ...known.skills.map(({ name }) => `/skill off ${name}`),
    ...skillsOff.map((name) => `/skill on ${name}`),
    ...known.agents.map(({ name }) => `/agent ${name}`),
  ];
}

function builtIn(command: BuiltInCommand, rest: string, known: KnownNames): TypedLine {
  const word = rest.trim();
  switch (command) {
    case "help":
      return { kind: "help", topic: word === "" ? null : word };
    case "skills":
      return word === "" ? { kind: "skills", skill: null } : shown(word, known);
    case "skill":
    case "use": // clawft's name for it
      return word === "" ? { kind: "skills", skill: null } : used(rest.trimStart(), known);
    case "agents":
      return { kind: "agents" };
    case "agent":
      return word === "" ? { kind: "agents" } : switched(word, known);
    default:
      return { kind: "other", command, arguments: rest };
  }
}

function shown(name: string, known: KnownNames): TypedLine {
  const names = known.skills.map((skill) => skill.name);
  const skill = named(names, name);
  return skill === null
    ? unknown({ what: "skill", name, names, known })
    : { kind: "skills", skill };
}

function used(line: string, known: KnownNames): TypedLine {
  // A skill with the name on or off is reached by its own name.
  const [, word, meant = ""] = /^(on|off)\s+(\S+)\s*$/.exec(line) ?? [];
  if (word === "on") return { kind: "skill-switch", skill: meant, isOn: true };
  if (word === "off") return switchedOff(meant, known);
  const [, name = "", rest = ""] = /^(\S+)(?:\s([^]*))?$/.exec(line) ?? [];
  const names = forPeople(known);
  const skill = named(names, name);
  return skill === null
    ? unknown({ what: "skill", name, names, known })
    : { kind: "skill", skill, arguments: rest };
}

/** A skill that only models use counts, too; one that is to be on again may be gone meanwhile. */
function switchedOff(name: string, known: KnownNames): TypedLine {
  const names = known.skills.map((skill) => skill.name);
  const skill = named(names, name);
  return skill === null
    ? unknown({ what: "skill", name, names, known })
    : { kind: "skill-switch", skill, isOn: false };
}

function switched(name: string, known: KnownNames): TypedLine {
  const names = known.agents.map((agent) => agent.name);
  const agent = named(names, name);
  return agent === null ? unknown({ what: "agent", name, names, known }) : { kind: "agent", agent };
}

function forPeople({ skills }: KnownNames): string[] {
  return skills.filter(({ userInvocable }) => userInvocable).map(({ name }) => name);
}

function named(names: readonly string[], typed: string): string | null {
  return (
    names.find((name) => name === typed) ??
    names.find((name) => name === typed.toLowerCase()) ??
    null
  );
}

function unknown(options: {
  what: "command" | "skill" | "agent";
  name: string;
  names: readonly string[];
  known: KnownNames;
}): TypedLine {
  const { what, name } = options;
  const near = nearestName(name, options.names);
  const nearest = near === null ? null : `${PREFIX[what]}${near}`;
  const meant = nearest === null ? "" : ` Did you mean ${nearest}?`;
  return { kind: "unknown", what, name, nearest, message: `${reasonOf(options)}${meant}` };
}

const PREFIX = { command: "/", skill: "/skill ", agent: "/agent " } as const;

function reasonOf({
  what,
  name,
  known,
}: {
  what: keyof typeof PREFIX;
  name: string;
  known: KnownNames;
}): string {
  if (what === "agent") return `Agent '${name}' not found. Run /agents to see available agents.`;
  const isForModels = known.skills.some((skill) => !skill.userInvocable && skill.name === name);
  if (isForModels) return `Skill '${name}' is for agents alone: its author wants it so.`;
  return what === "skill"
    ? `Skill '${name}' not found. Run /skills to see available skills.`
    : `Unknown command: /${name}. Type /help for available commands, or // for a text that begins with a slash.`;
}
