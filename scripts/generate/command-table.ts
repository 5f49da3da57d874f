import { buildProgram } from "../../apps/cli/src/program.ts";
import { leafCommands } from "../../apps/cli/src/program/examples.ts";
import { code, table } from "./markdown-table.ts";

/** Every command of `yard` with its arguments, as its help tells it. */
export function commandTable(): string {
  const program = buildProgram("", () => Promise.resolve());
  const rows = leafCommands(program).map(({ path, command }) => [
    code(["yard", path, ...command.registeredArguments.map(argumentText)].join(" ")),
    command.description(),
  ]);
  return table(["command", "does"], rows);
}

function argumentText(argument: {
  name: () => string;
  required: boolean;
  variadic: boolean;
}): string {
  const name = `${argument.name()}${argument.variadic ? "…" : ""}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}
