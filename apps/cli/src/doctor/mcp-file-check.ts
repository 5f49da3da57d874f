import { parseServerFile, ServerFileError } from "@switchyard/project/mcp-servers/server-file";
import { printableLine } from "../printable.ts";
import { readOptional } from "../read-optional.ts";
import { count } from "../quantities.ts";
import { checked, failed, ok, warning, type Check } from "./check.ts";

const ID = "mcp-servers.json";

/** Checks that the broker would accept the project's servers, also while nothing runs; values of the file are not shown. */
export async function checkMcpFile(file: string): Promise<Check> {
  const fix = `correct ${file}`;
  return checked(ID, fix, async () => {
    const text = await readOptional(file);
    if (text === null) return warning(ID, `there is no ${file}`, 'write {"mcpServers":{}} into it');
    try {
      const { entries, warnings } = parseServerFile(text, ID);
      const problems = entries.flatMap(({ problem }) => problem ?? []);
      const [first] = problems;
      if (first !== undefined) return failed(ID, withMore(first, problems.length), fix);
      const [remark] = warnings;
      return remark === undefined
        ? ok(
            ID,
            `${count(entries.length, "server")} ${entries.length === 1 ? "is" : "are"} declared in ${file}`,
          )
        : warning(ID, withMore(remark, warnings.length), fix);
    } catch (error) {
      if (!(error instanceof ServerFileError)) throw error;
      return failed(ID, printableLine(error.message), fix);
    }
  });
}

function withMore(first: string, all: number): string {
  return printableLine(all === 1 ? first : `${first}; and ${all - 1} more`);
}
