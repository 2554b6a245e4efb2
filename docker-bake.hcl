# docker buildx bake --push: the image for two architectures, with its provenance and an SBOM of the layers as attestations.
variable "IMAGE" {
  default = "skein"
}
variable "VERSION" {
  default = "0.3.0"
}
variable "SOURCE_COMMIT" {
  default = ""
}
variable "BASE" {
  default = "node:24-bookworm-slim"
}

group "default" {
  targets = ["skein"]
}

target "skein" {
  tags      = ["${IMAGE}:${VERSION}"]
  platforms = ["linux/amd64", "linux/arm64"]
  attest    = ["type=provenance,mode=max", "type=sbom"]
  args = {
    BASE          = BASE
    VERSION       = VERSION
    SOURCE_COMMIT = SOURCE_COMMIT
  }
}
