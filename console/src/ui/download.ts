/** Long enough for a browser to begin. */
const KEPT_MS = 60_000;

/** Puts bytes into a file of the viewer's; they are never opened here, whatever they are. */
export function downloadFile(name: string, blob: Blob): void {
  const url = URL.createObjectURL(new Blob([blob], { type: 'application/octet-stream' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name.replaceAll(/[/\\]/g, '_');
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}
