import { MAX_BODY_DEPTH, REQUEST_LIMITS } from "@switchyard/contracts/json-limits";

/** Bodies that are made to cost the receiver, by their content. */
export interface NastyBody {
  readonly name: string;
  readonly bytes: () => Buffer<ArrayBuffer>;
}

const KIB = 1024;
const numbers = (count: number): string => Array.from({ length: count }, (_, at) => at % 10).join();
const keys = (count: number): string =>
  Array.from({ length: count }, (_, at) => `"k${(at * 7_919) % 1_000_003}":0`).join();

/**
 * For an operation with these fields: each body is once what is just accepted and once what is beyond a limit. `size` is the limit
 * of a body in bytes. A body without any of the fields is refused for its names; one in which each field is wrong is refused by the
 * schema.
 */
export function nastyBodies(fields: readonly string[], size: number): NastyBody[] {
  const { maxKeys, maxValues } = REQUEST_LIMITS;
  const names = fields.length === 0 ? ["input"] : fields;
  const inEach = (value: (count: number) => string, count: number): string =>
    `{${names.map((name) => `${JSON.stringify(name)}:${value(Math.floor(count / names.length))}`).join()}}`;
  const room = Math.floor((size - 4 * KIB) / names.length);
  const filled = (unit: string): string =>
    inEach(() => `"${unit.repeat(Math.floor(room / Buffer.byteLength(unit)))}"`, 0);
  const made: Readonly<Record<string, () => string>> = {
    "as many keys as a request may have": () => `{${keys(maxKeys - 10)}}`,
    "more keys than a request may have": () => `{${keys(50_000)}}`,
    "the same key again and again": () =>
      `{${Array(maxKeys - 10)
        .fill('"k":0')
        .join()}}`,
    "objects of many keys": () => inEach((count) => `{${keys(count)}}`, maxKeys - 100),
    "lists as long as may be": () => inEach((count) => `[${numbers(count)}]`, maxValues - 100),
    "lists that are longer": () => inEach((count) => `[${numbers(count)}]`, 200_000),
    "lists of objects": () =>
      inEach(
        (count) => `[${Array.from({ length: count }, (_, at) => `{"k${at}":{}}`).join()}]`,
        maxValues / 2 - 200,
      ),
    "levels as deep as may be": () =>
      inEach(() => "[".repeat(MAX_BODY_DEPTH - 2) + "]".repeat(MAX_BODY_DEPTH - 2), 0),
    "a hundred thousand levels": () => "[".repeat(100_000),
    "a long text": () => filled("x"),
    "a long text of many lines": () => filled("\\n"),
    "escapes of Unicode": () => filled("\\u4e2d"),
    "half surrogate pairs": () => filled("\\ud83d"),
    "characters of four bytes": () => filled("\u{1F980}"),
    "a number of very many digits": () => inEach(() => "1".repeat(room), 0),
  };
  return Object.entries(made).map(([name, text]) => ({ name, bytes: () => Buffer.from(text()) }));
}
