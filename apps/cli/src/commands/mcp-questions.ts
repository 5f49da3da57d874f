import { client } from "@switchyard/bus/call";
import {
  AnswerContent,
  answerQuestion,
  listQuestions,
  type Question,
} from "@switchyard/contracts/mcp-questions";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { printable, printableLine } from "../printable.ts";
import { writeJson, type Terminal } from "../terminal.ts";

interface Options {
  readonly json?: true;
}

export async function list(
  terminal: Terminal,
  options: { server?: string; all?: true } & Options,
): Promise<void> {
  const { server, all } = options;
  const request = { pendingOnly: all !== true, ...(server === undefined ? {} : { server }) };
  const reply = await withBus(await findBus(process.env), (bus) =>
    client(bus, { listQuestions }).listQuestions(request),
  );
  if (options.json) return writeJson(terminal, reply);
  if (reply.questions.length === 0)
    return terminal.note("no MCP server waits for an answer of yours");
  for (const question of reply.questions)
    for (const line of questionLines(question)) terminal.out(line);
}

export async function answer(
  terminal: Terminal,
  id: string,
  options: { content?: string; decline?: true; cancel?: true } & Options,
): Promise<void> {
  const { content, decline, cancel } = options;
  if ([content, decline, cancel].filter((given) => given !== undefined).length > 1)
    throw new CliError("usage", "give an answer, --decline or --cancel, and only one of them");
  const request =
    decline === true || cancel === true
      ? ({ id, action: decline === true ? "decline" : "cancel" } as const)
      : ({ id, action: "accept", content: parseContent(content ?? "{}") } as const);
  const reply = await withBus(await findBus(process.env), (bus) =>
    client(bus, { answerQuestion }).answerQuestion(request),
  );
  if (options.json) return writeJson(terminal, reply);
  terminal.note(`question ${id} is ${reply.question.state}`);
}

/** The server's words are shown as its words, never as ours. */
function questionLines(question: Question): string[] {
  const { id, server, state, askedFor, expiresAt, message, url, form } = question;
  const whom = askedFor.map(({ user, agent, runId }) => runId ?? agent ?? user).join(", ");
  const fields = Object.entries(form?.fields ?? {}).map(([name, field]) => {
    const isRequired = form?.required.includes(name) === true;
    return `    ${printableLine(name)}${isRequired ? "*" : ""}: ${field.type}${field.description === undefined ? "" : ` – ${printableLine(field.description)}`}`;
  });
  return [
    `${id}  ${state}  until ${expiresAt}`,
    `  MCP server ${server} asks (for ${whom}):`,
    ...printable(message)
      .split("\n")
      .map((line) => `  │ ${line}`),
    ...(url === null ? [] : [`  it wants you to open: ${printableLine(url)}`]),
    ...fields,
  ];
}

function parseContent(text: string): AnswerContent {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new CliError("usage", `the answer is no JSON: ${String(error)}`, {
      hint: `quote it for the shell, such as '{"name":"Ada"}'`,
      cause: error,
    });
  }
  const parsed = AnswerContent.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new CliError(
    "usage",
    "the answer must be a JSON object with texts, numbers, true, false or lists of texts",
    {
      hint: `such as '{"name":"Ada","age":36}'`,
    },
  );
}
