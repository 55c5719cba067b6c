import type { Server } from "@grpc/grpc-js";
import { HealthImplementation } from "grpc-health-check";

/** The standard health service (grpc.health.v1). The empty name is the whole server. */
export interface Health {
  set(status: "SERVING" | "NOT_SERVING"): void;
}

/** Adds grpc.health.v1 (Check, List, Watch) to a server; NOT_SERVING until set otherwise. */
export function addHealth(server: Server, services: readonly string[]): Health {
  const names = ["", ...services];
  const health = new HealthImplementation(
    Object.fromEntries(names.map((name) => [name, "NOT_SERVING"])),
  );
  health.addToServer(server);
  return { set: (status) => names.forEach((name) => void health.setStatus(name, status)) };
}
