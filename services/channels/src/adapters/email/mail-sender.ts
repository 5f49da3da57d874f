import { domainToASCII, domainToUnicode } from "node:url";
import type { ParsedMail } from "mailparser";
import { readAuthenticationResults } from "./authentication-results.ts";
import { HeaderScanner, MalformedHeader } from "./header-scanner.ts";

type HeaderLines = ParsedMail["headerLines"];

export interface MailSender {
  /** The address in lower case. */
  readonly address: string;
  /** The domain in ASCII and lower case. */
  readonly domain: string;
}

/**
 * Returns the author of a mail: the one address of its one `From` header. Null for everything that programs read in different
 * ways: several headers or addresses, groups, routes, an address in the name beside another one. It cannot be determined which of
 * them the mail server has authenticated.
 */
export function senderOf(headers: HeaderLines): MailSender | null {
  const [value, ...more] = valuesOf(headers, "from");
  if (value === undefined || more.length > 0) return null;
  const address = oneAddress(value);
  if (address === null) return null;
  const domain = asciiDomain(address.domain);
  if (domain === null) return null;
  return { address: `${address.local}@${domainToUnicode(domain)}`.toLowerCase(), domain };
}

/**
 * Returns why the results of the mail server do not authenticate the sender of a mail; null when they do. Exactly one
 * `Authentication-Results` of this server has to be there: a server that does not remove forged ones (RFC 8601 §5) would leave a
 * second one. Its one `dmarc` result has to be `pass`, for the domain of `From` (`header.from`): DMARC passes only for that
 * domain, while SPF and DKIM pass for domains that a reader never sees.
 */
export function problemOfProof(
  headers: HeaderLines,
  { authservId, domain }: { readonly authservId: string; readonly domain: string },
): string | null {
  const found = valuesOf(headers, "authentication-results")
    .map(readAuthenticationResults)
    .filter((results) => results?.authservId === authservId.toLowerCase());
  const [own, ...more] = found;
  if (own === undefined || own === null) return "no result of the mail server";
  if (more.length > 0) return "several results of the mail server";
  if (own.results === null) return "the result of the mail server is malformed";
  const dmarc = own.results.filter(({ method }) => method === "dmarc");
  const [result, ...others] = dmarc;
  if (result === undefined || others.length > 0) return `${dmarc.length} results of DMARC`;
  if (result.result !== "pass") return "DMARC did not pass";
  const [from, ...rest] = result.properties.filter(({ name }) => name === "header.from");
  if (from === undefined || rest.length > 0) return "DMARC names no domain, or several";
  return asciiDomain(from.value) === domain ? null : "DMARC passed for another domain";
}

/**
 * Labels of letters, digits, hyphens and underscores, the last one with a letter. All other text must not reach `domainToASCII`,
 * which parses a domain as browsers do: it decodes `%2E`, ends at a `/` and reads `1.2` as an address.
 */
const DOMAIN = /^(?:[\p{L}\p{M}\p{Nd}_-]+\.)*[\p{M}\p{Nd}_-]*\p{L}[\p{L}\p{M}\p{Nd}_-]*$/u;

function asciiDomain(domain: string): string | null {
  const ascii = DOMAIN.test(domain) ? domainToASCII(domain).toLowerCase() : "";
  return ascii === "" ? null : ascii;
}

/** Header names that differ only in characters that some programs drop count as the same. */
function valuesOf(headers: HeaderLines, wanted: string): string[] {
  return headers
    .filter(({ key }) => key.replaceAll(/[^\w-]/g, "").toLowerCase() === wanted)
    .map(({ line }) => Buffer.from(line.slice(line.indexOf(":") + 1), "latin1").toString("utf8"));
}

/** Characters of an atom with dots; RFC 6532 adds every character beyond ASCII. */
// oxlint-disable-next-line no-control-regex -- the pattern excludes these characters
const ATOM = /[^\u0000-\u0020\u007F()<>@,;:\\"[\]]/;

/** `local@domain`, or a name and `<local@domain>`, by RFC 5322 §3.4; null for anything else. */
function oneAddress(value: string): { readonly local: string; readonly domain: string } | null {
  const scanner = new HeaderScanner(value);
  try {
    scanner.skip();
    const first = scanner.run(ATOM);
    if (first !== "" && scanner.take("@")) return atEnd(scanner, addressAfter(scanner, first));
    // The name: atoms and quoted strings.
    for (scanner.skip(); scanner.run(ATOM) !== "" || scanner.quoted() !== null;) scanner.skip();
    if (!scanner.take("<")) return null;
    const local = scanner.run(ATOM);
    if (!scanner.take("@")) return null;
    const address = addressAfter(scanner, local);
    return scanner.take(">") ? atEnd(scanner, address) : null;
  } catch (error) {
    if (error instanceof MalformedHeader) return null;
    throw error;
  }
}

function addressAfter(scanner: HeaderScanner, local: string) {
  const domain = scanner.run(ATOM);
  return local === "" || domain === "" ? null : { local, domain };
}

function atEnd<T>(scanner: HeaderScanner, address: T): T | null {
  scanner.skip();
  return scanner.isDone ? address : null;
}
