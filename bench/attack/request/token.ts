import { randomUUID } from "node:crypto";
import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { access } from "../../../gen/mooring/access/v1/access_pb.js";
import { callAdmin } from "../../mooring.ts";
import type { Target } from "../target.ts";

/** Required scopes of a method; none: it needs no token. */
function scopesOf(method: DescMethod): readonly string[] {
  if (!hasOption(method, access)) return ["settings:read"];
  const { public: isPublic, anyToken, scopes } = getOption(method, access);
  if (isPublic) return [];
  // With the permanent token, this would end the token of the well-behaved client.
  if (scopes.includes("root")) return ["settings:write"];
  return anyToken ? ["drivers:read"] : scopes;
}

/** Creates a token with only the scopes of a method. @returns an empty one if it needs none. */
export async function createToken(target: Target, method: DescMethod): Promise<string> {
  const scopes = scopesOf(method);
  if (scopes.length === 0) return "";
  const principal = `attack-${randomUUID()}`;
  const kind = "PRINCIPAL_KIND_PROGRAM";
  await callAdmin(target, "/api/admin/access/principals/create", { name: principal, kind });
  const made = await callAdmin(target, "/api/admin/access/tokens/create", { principal, scopes });
  return (made.data as { readonly secret: string }).secret;
}
