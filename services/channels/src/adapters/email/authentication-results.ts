import { HeaderScanner, MalformedHeader } from "./header-scanner.ts";

/** The result of one method of authentication. */
export interface AuthenticationResult {
  /** `dmarc`, `dkim`, `spf` …, in lower case. */
  readonly method: string;
  /** `pass`, `fail` …, in lower case. */
  readonly result: string;
  /** `header.from` and the like, in lower case, with the values as they were written. */
  readonly properties: readonly { readonly name: string; readonly value: string }[];
}

export interface AuthenticationResults {
  /** The server that made the results, in lower case. */
  readonly authservId: string;
  /** Null when the text after the id violates the grammar: then no result counts. */
  readonly results: readonly AuthenticationResult[] | null;
}

/**
 * The value of an `Authentication-Results` header (https://www.rfc-editor.org/rfc/rfc8601#section-2.2). Null when it has no id: no header of
 * a server that follows the standard. Beside the grammar, properties without a type (`action=none` of Microsoft) and a `;` at
 * the end are accepted, which servers write.
 */
export function readAuthenticationResults(value: string): AuthenticationResults | null {
  const scanner = new HeaderScanner(value);
  let authservId: string | null = null;
  try {
    scanner.skip();
    authservId = (scanner.quoted() ?? scanner.run(WORD)).toLowerCase();
    const isSeparated = scanner.skip();
    if (isSeparated) scanner.run(/\d/); // the version
    scanner.skip();
    if (authservId === "") return null;
    return { authservId, results: readResults(scanner) };
  } catch (error) {
    if (!(error instanceof MalformedHeader)) throw error;
    return authservId === null || authservId === "" ? null : { authservId, results: null };
  }
}

/** Characters of an unquoted value. */
const WORD = /[^\s;()"]/;
/** Characters of names of methods, results and properties. */
const KEYWORD = /[A-Za-z0-9_-]/;

function readResults(scanner: HeaderScanner): AuthenticationResult[] {
  const results: AuthenticationResult[] = [];
  while (!scanner.isDone) {
    if (!scanner.take(";")) throw new MalformedHeader("a result does not begin with ;");
    scanner.skip();
    if (scanner.isDone) break;
    const method = keyword(scanner);
    scanner.skip();
    if (method === "none" && results.length === 0 && scanner.isDone) return [];
    if (scanner.take("/")) scanner.run(/[\d.\s]/); // the method's version
    equals(scanner);
    const result = keyword(scanner);
    results.push({ method, result, properties: readProperties(scanner) });
  }
  return results;
}

function readProperties(scanner: HeaderScanner): AuthenticationResult["properties"] {
  const properties: { name: string; value: string }[] = [];
  for (;;) {
    const isSeparated = scanner.skip();
    let name = scanner.run(KEYWORD);
    if (name === "") return properties;
    if (!isSeparated) throw new MalformedHeader("a property is not separated");
    for (scanner.skip(); scanner.take("."); scanner.skip()) {
      scanner.skip();
      name += `.${keyword(scanner)}`;
    }
    equals(scanner);
    // The part of an address before the @ may be a quoted string.
    const value = (scanner.quoted() ?? "") + scanner.run(WORD);
    properties.push({ name: name.toLowerCase(), value });
  }
}

function keyword(scanner: HeaderScanner): string {
  const word = scanner.run(KEYWORD).toLowerCase();
  if (word === "") throw new MalformedHeader("a keyword is missing");
  return word;
}

function equals(scanner: HeaderScanner): void {
  scanner.skip();
  if (!scanner.take("=")) throw new MalformedHeader("= is missing");
  scanner.skip();
}
