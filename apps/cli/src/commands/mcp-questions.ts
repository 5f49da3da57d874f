import { client } from "@switchyard/bus/call";
import {
  AnswerContent,
  answerQuestion,
  listQuestions,
  QuestionId,
  type Question,
  type QuestionField,
} from "@switchyard/contracts/mcp-broker/mcp-questions";
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
  const reply = await withBus(await findBus(terminal.env), (bus) =>
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
  if (!QuestionId.safeParse(id).success)
    throw new CliError("usage", `${JSON.stringify(id)} is not a valid question id`, {
      hint: "see those that wait with: ./yard mcp questions list",
    });
  const { content, decline, cancel } = options;
  if ([content, decline, cancel].filter((given) => given !== undefined).length > 1)
    throw new CliError("usage", "give an answer, --decline or --cancel, and only one of them");
  const request =
    decline === true || cancel === true
      ? ({ id, action: decline === true ? "decline" : "cancel" } as const)
      : ({ id, action: "accept", content: parseContent(content ?? "{}") } as const);
  const reply = await withBus(await findBus(terminal.env), (bus) =>
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
    const about = field.description === undefined ? "" : ` – ${printableLine(field.description)}`;
    return `    ${printableLine(name)}${isRequired ? "*" : ""}: ${printableLine(fieldText(field), 1_000)}${about}`;
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

/** Describes a field's input: its type and bounds, or the choices with their labels. */
function fieldText(field: QuestionField): string {
  if (field.type === "array") return `some of ${choices(field.items)}`;
  if ("oneOf" in field || "enum" in field) return `one of ${choices(field)}`;
  const { type } = field;
  if (type === "boolean") return "true or false";
  if (type === "string") return field.format === undefined ? type : `${type} (${field.format})`;
  const { minimum, maximum } = field;
  const bounds = [
    minimum === undefined ? [] : [`at least ${minimum}`],
    maximum === undefined ? [] : [`at most ${maximum}`],
  ].flat();
  return bounds.length === 0 ? type : `${type} (${bounds.join(", ")})`;
}

type Choice = { const: string; title?: string | undefined };

function choices(
  of:
    | { oneOf: Choice[] }
    | { anyOf: Choice[] }
    | { enum: string[]; enumNames?: string[] | undefined },
): string {
  const all: Choice[] =
    "enum" in of
      ? of.enum.map((value, index) => ({ const: value, title: of.enumNames?.[index] }))
      : "oneOf" in of
        ? of.oneOf
        : of.anyOf;
  return all
    .map(({ const: value, title }) =>
      title === undefined || title === value ? value : `${value} (${title})`,
    )
    .join(", ");
}

function parseContent(text: string): AnswerContent {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new CliError("usage", `the answer is not valid JSON: ${String(error)}`, {
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
