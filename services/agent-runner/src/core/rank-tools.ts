import MiniSearch from "minisearch";
import { cutText } from "@switchyard/contracts/cut-text";

/** The fields of a tool that a search reads. */
export interface RankedTool {
  readonly name: string;
  readonly description: string;
}

/** A longer query does not improve the ranking. */
const MAX_QUERY = 4_000;

/**
 * Sorts the tools by how well their names and descriptions fit a run's topic (BM25), the best first.
 * Tools without a match follow in their own order, so the result is always the whole list.
 */
export function rankTools<T extends RankedTool>(tools: readonly T[], about: string): T[] {
  const fits = fittingTools(tools, about);
  const found = new Set(fits);
  return [...fits, ...tools.filter((tool) => !found.has(tool))];
}

/** Returns only the tools that have a word in common with the text, the best first. */
export function fittingTools<T extends RankedTool>(tools: readonly T[], about: string): T[] {
  const index = new MiniSearch<{ id: number; name: string; description: string }>({
    fields: ["name", "description"],
    searchOptions: { boost: { name: 2 }, prefix: (term) => term.length > 3 },
    tokenize: wordsOf,
  });
  index.addAll(tools.map(({ name, description }, id) => ({ id, name, description })));
  const hits = index.search(cutText(about, MAX_QUERY));
  // The order of equal hits must not hang on the library.
  return hits
    .toSorted((one, other) => other.score - one.score || Number(one.id) - Number(other.id))
    .flatMap(({ id }) => tools[Number(id)] ?? []);
}

/** Splits prose and names into words: `read_textFile` is read, text, file. */
function wordsOf(text: string): string[] {
  return text
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length > 1);
}
