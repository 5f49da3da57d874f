import assert from "node:assert/strict";
import { test } from "node:test";
import { CliError } from "./cli-error.ts";
import { loginAnswer } from "./login-answer.ts";

const address = (query: string): URL => new URL(`http://127.0.0.1:4711/callback?${query}`);

test("takes the code and who issued it out of the address", () => {
  assert.deepEqual(loginAnswer(address("state=s&code=c%2B1"), "s"), { code: "c+1" });
  assert.deepEqual(loginAnswer(address("state=s&code=c&iss=https%3A%2F%2Fas"), "s"), {
    code: "c",
    iss: "https://as",
  });
});

test("another login's address, a refusal and one without a code are errors", () => {
  const code = (query: string): string => {
    try {
      loginAnswer(address(query), "s");
    } catch (error) {
      return error instanceof CliError ? error.code : String(error);
    }
    return "none";
  };
  assert.equal(code("state=t&code=c"), "login_expired");
  assert.equal(code("code=c"), "login_expired");
  assert.equal(code("state=s&error=access_denied"), "denied");
  assert.equal(code("state=s"), "usage");
});
