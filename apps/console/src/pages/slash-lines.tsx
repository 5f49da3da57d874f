import type { AgentSummary, SkillSummary } from "@switchyard/client/operations";
import { namingLines, SESSION_COMMANDS } from "@switchyard/contracts/typed-line";

/** Skills and agents that a line may name. */
export interface Names {
  readonly skills: readonly SkillSummary[];
  readonly agents: readonly AgentSummary[];
}

interface SlashLine {
  /** The text of the field when it is picked. */
  readonly line: string;
  readonly shown: string;
  readonly meaning: string;
}

const MOST_LINES = 12;

/** Completions of the typed text, each with its effect. */
export function SlashLines(props: {
  text: string;
  names: Names;
  off: readonly string[];
  onPick: (text: string) => void;
}) {
  const { text, names, off, onPick } = props;
  const found = linesFor(text, names, off);
  if (found.length === 0) return null;
  return (
    <ul class="lines slash-lines" aria-label="Completions" data-testid="slash-names">
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
