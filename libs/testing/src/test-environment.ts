import { after } from "node:test";

/** Sets or, with `undefined`, removes variables of this process until the test, or the file at whose top level it is called, ends. */
export function testEnvironment(values: Readonly<Record<string, string | undefined>>): void {
  const before = Object.keys(values).map((name) => [name, process.env[name]] as const);
  set(Object.entries(values));
  after(() => set(before));
}

function set(values: Iterable<readonly [string, string | undefined]>): void {
  for (const [name, value] of values) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}
