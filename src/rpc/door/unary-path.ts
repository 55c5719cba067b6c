import type { Method, UnaryMethod } from "../method.ts";

/** The unary methods by their path, which gRPC and Connect have in common. */
export function unaryMethods(methods: readonly Method[]): ReadonlyMap<string, UnaryMethod> {
  return new Map(methods.filter(isUnary).map((method) => [pathOf(method), method]));
}

function isUnary(method: Method): method is UnaryMethod {
  return method.kind === "unary";
}

function pathOf({ desc }: UnaryMethod): string {
  return `/${desc.parent.typeName}/${desc.name}`;
}
